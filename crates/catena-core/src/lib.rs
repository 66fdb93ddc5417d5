//! Messages, tools, models, middleware, the chain, the loop and the journal of catena.
