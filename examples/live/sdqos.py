# SPDX-License-Identifier: Apache-2.0
"""SDQoS (Hua et al., CCF THPC 2019), Tables 2, 3, 5 and 6, in small: rates at a tenth of the paper's.

Each I/O node stands for a server of the paper. Where its disk matters it has a device model
(`sluice up --device-model`): it takes the time that the disk would take, and writes the data as always.

  Table 2  one application with a rate, on 8 nodes that have 535.82 MB/s together: `sluice run --rate`. 560 is
           more than there is, there and here.
  Table 3  two with a rate each, both of which want more all the time
  Table 5  strided calls of 64 KiB beside random ones of 4 KiB, 16 processes each, on disks with a seek of 4 ms,
           with which both without control have as much of the bandwidth as in the paper (56 %); then the small
           ones with a max. The paper does not say which; here a half, a quarter and an eighth of what they
           had, and no limit, all four at the same time. Bandwidth is the sum over a time in which both run.
  Table 6  one application on 1, 2, 4 and 8 nodes with the paper's bandwidth; the control off: admit=open,
           share=fifo, no capacity and no grants; on: token buckets with a min and a max that it does not reach,
           shared out by the controller, and grants. Both at the same time, each on a layer of its own. Since
           a disk hides what the CPU does meanwhile, CPU time of I/O nodes and controller for each
           request is printed too.

A file of PVFS is on all servers: here each application is served by all nodes (allocate=oracle, with a
curve that says so), two of its 16 processes by each of 8.
"""
import os, time

from lab import Control, Stream, said, table
from phased import side_by_side

TENTH = 10
CAPACITY = 535.82  # MB/s of the paper's 8 servers together
TABLE2 = ((560, 513.47, 8.3), (480, 458.65, 4.44), (240, 217.82, 9.24))
TABLE3 = (((320, 294.32, 8.03), (80, 73.11, 8.61)), ((240, 216.74, 9.70), (160, 144.79, 9.51)),
          ((400, 361.66, 9.59), (80, 72.76, 9.05)))
TABLE5 = (299.77, 366.64)
TABLE6 = ((1, 118.95, 0.54), (2, 238.76, 1.27), (4, 399.70, 1.54), (8, 538.14, 2.7))
NODES, PROCS, CALL = 8, 16, 64 << 10
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pids):
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat") as f:
            total += sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13]))
    return total / TICKS


def together(lab, n, up, jobs, seconds):
    """MB/s of jobs (name, call, pattern, options of run) that run beside each other on n nodes; CPU us for a request."""
    curves = os.path.join(lab.tmp, "curves.csv")
    with open(curves, "w") as f:
        f.write("job,ionodes,bandwidth,nodes,procs\n" + "".join(f"{j[0]},{n},1000,{NODES},{PROCS}\n" for j in jobs))
    with lab.layer("--ionodes", str(n), "--workers", "1", "--policy", "allocate=oracle", "--curves", curves, *up):
        status = lab.ask("status")
        pids = [n["pid"] for n in status.get("ionodes", [status])]
        if "controller" in status:
            pids.append(status["controller"]["pid"])
        control, before = Control(lab), cpu_seconds(pids)
        streams = [Stream(lab, control, name, PROCS, call, pattern) for name, call, pattern, _ in jobs]
        for s, job in zip(streams, jobs):
            s.start("--nodes", str(NODES), "--procs", str(PROCS), *job[3])
        while sum(j["clients"] for j in lab.ask("status")["jobs"]) < PROCS * len(jobs):
            if any(s.process.poll() is not None for s in streams):
                break  # end() says why
            time.sleep(0.05)
        start = time.time() + min(seconds / 2, 2)
        control.window(start, start + seconds)
        for s in streams:
            s.end()
        used = cpu_seconds(pids) - before
    for s in streams:
        s.verify()
    return [s.counted / seconds / 1e6 for s in streams], used * 1e6 / sum(s.requests for s in streams)


def rates(lab, seconds, wanted):
    jobs = [(f"app{i + 1}", CALL, "seq", ["--rate", f"{w / TENTH:.3f}M"]) for i, w in enumerate(wanted)]
    return together(lab, NODES, ["--capacity", f"{CAPACITY / TENTH}M"], jobs, seconds)[0]


def deviation(wanted, got):
    return abs(got - wanted) / wanted * 100


def table2_3(lab, seconds, quick):
    rows = []
    for pair in [(t,) for t in TABLE2] + list(TABLE3):
        if quick and pair[0][0] not in (480, 320):
            continue
        got = rates(lab, seconds, [p[0] for p in pair])
        rows.append({"table": 2 if len(pair) == 1 else 3, "apps": [
            {"desired_mbps": p[0] / TENTH, "actual_mbps": g, "deviation_pct": deviation(p[0] / TENTH, g),
             "paper_deviation_pct": p[2]} for p, g in zip(pair, got)]})
        said(f"rates of {', '.join(str(p[0]) for p in pair)} done")
    return rows


def table5(lab, seconds, quick):
    disk = f"bandwidth={CAPACITY / TENTH / NODES:.3f}M,seek=4ms,streams=1"
    up = ["--device-model", disk, "--policy", "share=fifo", "--policy", "order=to"]

    def one(mine, limit):
        options = ["--max", f"{limit:.6f}M"] if limit else []
        return together(mine, NODES, up, [("large", 64 << 10, "stride", []), ("small", 4 << 10, "random", options)], seconds)[0]

    free = one(lab, None)[1]
    parts = (None, 1 / 8) if quick else (None, 1 / 2, 1 / 4, 1 / 8)
    got = side_by_side(lab, [part and free * part for part in parts], one)
    said("Table 5 done")
    return [{"small_max": part, "large_mbps": g[0], "small_mbps": g[1], "mbps": sum(g),
             "improvement_pct": (sum(g) / sum(got[0]) - 1) * 100} for part, g in zip(parts, got)]


def table6(lab, seconds, quick):
    rows = []
    for n, mbps, paper in TABLE6:
        if quick and n != 2:
            continue
        disk = f"bandwidth={mbps / TENTH / n:.3f}M,streams=1"
        up = ["--device-model", disk]
        off = up + ["--policy", "admit=open", "--policy", "share=fifo"], []
        on = (up + ["--capacity", f"{2 * mbps / TENTH:.3f}M", "--policy", "grant=fair-share"],
              ["--min", f"{mbps / TENTH / 2:.3f}M", "--max", f"{mbps:.3f}M"])
        (off, off_us), (on, on_us) = side_by_side(
            lab, (off, on), lambda mine, how: together(mine, n, how[0], [("app", CALL, "seq", how[1])], seconds))
        rows.append({"ionodes": n, "off_mbps": off[0], "on_mbps": on[0], "overhead_pct": (1 - on[0] / off[0]) * 100,
                     "paper_overhead_pct": paper, "off_cpu_us": off_us, "on_cpu_us": on_us})
        said(f"Table 6 with {n} done")
    return rows


def run(lab, args):
    seconds = args.seconds or (0.8 if args.quick else 4.0)
    return {"experiment": "sdqos", "rates": table2_3(lab, seconds, args.quick), "table5": table5(lab, seconds, args.quick),
            "table6": table6(lab, seconds, args.quick), "verified": True}


def show(result):
    print(f"Tables 2 and 3: rates on {NODES} I/O nodes, 1/{TENTH} of the paper's, MB/s")
    table(["table", "app", "desired:1", "actual:2", "deviation %:2", "paper's %:2"],
          [[str(r["table"]), f"app{i + 1}", a["desired_mbps"], a["actual_mbps"], a["deviation_pct"], a["paper_deviation_pct"]]
           for r in result["rates"] for i, a in enumerate(r["apps"])])
    print("\nTable 5: strided 64 KiB beside random 4 KiB on disks, MB/s")
    table(["small ones", "64 KiB:2", "4 KiB:2", "together:2", "improvement %:1"],
          [[f"1/{1 / r['small_max']:.0f}" if r["small_max"] else "no limit", r["large_mbps"], r["small_mbps"], r["mbps"],
            r["improvement_pct"]] for r in result["table5"]])
    print(f"paper: {TABLE5[0] / TENTH:.2f} and {TABLE5[1] / TENTH:.2f}, 22 %")
    print("\nTable 6: what the control costs; CPU of I/O nodes and controller for each request of 64 KiB")
    table(["nodes:0", "off MB/s:2", "on MB/s:2", "overhead %:2", "paper's %:2", "off us:0", "on us:0"],
          [[r["ionodes"], r["off_mbps"], r["on_mbps"], r["overhead_pct"], r["paper_overhead_pct"], r["off_cpu_us"], r["on_cpu_us"]]
           for r in result["table6"]])
    print("All files hold what was written.")
