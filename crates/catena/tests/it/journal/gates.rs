//! Gates are pure questions: asking them again, or in another order, changes nothing about what runs.

use catena::message::ToolCall;
use catena::prelude::*;
use proptest::prelude::*;

use super::script::{COLUMNS, Disturbance, Does, Table, World, gate_tables, scripts};
use super::{block_on, config};

/// Makes every gate be asked twice about every call, by a change that none of them looks at.
struct AskTwice(u16);

#[middleware]
impl Middleware for AskTwice {
    fn name(&self) -> &str {
        "ask-twice"
    }

    fn priority(&self) -> Priority {
        Priority(self.0)
    }

    async fn before_tool_call(&self, _: &Turn, call: &ToolCall) -> Result<ToolDecision> {
        let mut again = call.clone();
        again.input["seen"] = true.into();
        Ok(ToolDecision::Replace(again))
    }
}

/// Without what depends on the order. A replacement changes what the gates after it are asked about, so two that replace, or one that
/// replaces what another one blocks, have no verdict without an order.
fn without_replacements(mut gates: Vec<Table>) -> Vec<Table> {
    for does in gates.iter_mut().flatten().filter(|does| **does == Does::Replace) {
        *does = Does::Allow;
    }
    gates
}

/// `Block` and `AbortLoop` settle a call at once, whichever comes first; so for the same call only one of the two is kept. A gate that
/// fails blocks.
fn without_conflicts(gates: Vec<Table>) -> Vec<Table> {
    let mut gates = without_replacements(gates);
    for column in 0..COLUMNS {
        if gates.iter().any(|table| matches!(table[column], Does::Abort(_))) {
            let blocks = |does: &&mut Does| matches!(does, Does::Block | Does::Fail | Does::Panic);
            gates
                .iter_mut()
                .map(|table| &mut table[column])
                .filter(blocks)
                .for_each(|does| *does = Does::Allow);
        }
    }
    gates
}

proptest! {
    #![proptest_config(config(150))]

    /// A gate asked twice gives the same verdict: after a replacement, and after a restart at every pause.
    #[test]
    fn asking_the_gates_again_changes_nothing_about_what_runs(
        script in scripts(),
        gates in gate_tables(),
        place in 499..504u16,
    ) {
        let gates = without_replacements(gates);
        let once = World::new(script.clone(), gates.clone(), Disturbance::None);
        let twice = World::new(script, gates, Disturbance::None).restarting();
        block_on(once.play(|builder| builder));
        block_on(twice.play(|builder| builder.with(AskTwice(place))));
        prop_assert_eq!(once.executed(), twice.executed());
    }

    /// The same gates in another order let the same calls run. Left out: `Block` and `AbortLoop` on the same call, where the first one
    /// settles it, and replacements.
    #[test]
    fn the_order_of_gates_changes_nothing_about_what_runs(
        script in scripts(),
        gates in gate_tables(),
        order in Just((500..504u16).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let gates = without_conflicts(gates);
        let order = order[..gates.len()].to_vec();
        let listed = World::new(script.clone(), gates.clone(), Disturbance::None);
        let shuffled = World::new(script, gates, Disturbance::None).ordered(order);
        block_on(listed.play(|builder| builder));
        block_on(shuffled.play(|builder| builder));
        prop_assert_eq!(listed.executed(), shuffled.executed());
    }
}
