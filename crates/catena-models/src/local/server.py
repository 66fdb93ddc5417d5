"""Runs catena's local model: llama.cpp's own HTTP server on a free loopback port.

Standard output carries one line, "listening http://127.0.0.1:PORT", once the model is loaded. Standard input is the lifeline: when it ends,
whoever started this is gone, and so is this. With --detachable the word "detach" on a line of its own cuts the lifeline.
"""

import argparse
import os
import signal
import sys
import threading


def watch_lifeline(detachable):
    received = b""
    while True:
        try:
            chunk = os.read(0, 64)
        except OSError:
            chunk = b""
        if not chunk:
            os._exit(0)  # From a thread, and while the engine may be busy: nothing softer ends the process for certain.
        received = (received + chunk)[-64:]
        if detachable and b"detach\n" in received:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            return


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--model", required=True)
    options.add_argument("--name", required=True)
    options.add_argument("--context", type=int, required=True)
    options.add_argument("--threads", type=int, required=True)
    options.add_argument("--detachable", action="store_true")
    options = options.parse_args()

    # Nothing but the announcement may go to standard output, whatever the engine prints.
    announce = os.dup(1)
    os.dup2(2, 1)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # A closed terminal is no reason to end; the lifeline is.
    threading.Thread(target=watch_lifeline, args=(options.detachable,), daemon=True).start()

    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = options.model
    params.model_alias = {options.name}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = options.context
    params.n_parallel = 1
    params.use_jinja = True
    params.cpuparams.n_threads = options.threads
    params.cpuparams_batch.n_threads = options.threads
    params.verbosity = 2  # Warnings and errors: the log of a server that stays must not grow with every request.
    params.offline = True  # The weights are a file; the engine has nothing to fetch.
    params.cors_origins = ""  # The default lets any web page read the answers.
    params.ui = False
    params.endpoint_slots = False  # It shows the prompts being worked on.
    try:
        server = xllamacpp.Server(params)
    except RuntimeError:
        sys.exit("the engine could not load " + options.model)  # It has said why; a traceback would push that out of sight.

    with os.fdopen(announce, "w") as out:
        print("listening", server.listening_address, file=out)
    threading.Event().wait()


if __name__ == "__main__":
    sys.exit(main())
