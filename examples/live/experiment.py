#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Experiments of the papers in small, live on one machine, beside the paper's figures and the simulator's.

usage: experiment.py [OPTION]... NAME

Names:
  iosets    IO-Sets (Barthélemy et al., RR-9537), Figure 4: one job with short, frequent I/O phases and
            fifteen with long, rare ones; unmanaged, told the periods, with periods that Sluice
            detects, and with each of these off by half
  gainaru   Gainaru et al. (RR-8519), section 5: applications of different sizes; unmanaged,
            max-sys-eff, min-dilation, granted by the controller
  gekkofwd  GekkoFWD (Bez et al. 2021), section 5.3: a queue of 14 jobs on 12 I/O nodes; one, static,
            size and mckp
  sdqos     SDQoS (Hua et al.), Tables 2, 3, 5 and 6: rates of jobs over 1 to 8 I/O nodes, and what the
            control costs

What is scaled, and what is emulated, the file NAME.py tells at its head. Every file is read again and
compared at the end; one that differs ends all with status 1. The layer is its own, and nothing is left.
"""
import argparse, importlib, json, os, signal, sys

sys.dont_write_bytecode = True
from lab import HERE, Lab


def main():
    p = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("name", choices=["iosets", "gainaru", "gekkofwd", "sdqos"])
    p.add_argument("--sluice", default=os.path.join(HERE, "../../build/cli/sluice"))
    p.add_argument("--dir", default="/dev/shm", help="where the files are written")
    p.add_argument("--quick", action="store_true", help="some 20 s, to see that it works; the figures mean little")
    p.add_argument("--json", action="store_true", help="print JSON instead of tables")
    p.add_argument("--scale", type=float, default=0, help="how many times faster than in the paper")
    p.add_argument("--seconds", type=float, default=0, help="length of a run, if not the paper's, scaled")
    p.add_argument("--gap", type=float, default=0, help="gainaru: --gap of sluice up, in seconds")
    p.add_argument("--seed", type=int, default=1)
    args = p.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    experiment = importlib.import_module(args.name)
    lab = Lab(args)
    try:
        result = experiment.run(lab, args)
        if args.json:
            print(json.dumps(result, indent=1))
        else:
            experiment.show(result)
    finally:
        lab.close()


if __name__ == "__main__":
    main()
