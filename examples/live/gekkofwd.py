# SPDX-License-Identifier: Apache-2.0
"""GekkoFWD (Bez et al., IPDPS 2021), section 5.3 and Figure 9, in small: a queue of 14 jobs, 12 I/O nodes.

Jobs start in order when 96 compute nodes have room for the next; whenever one comes or goes, the
controller allocates I/O nodes anew, with the policies one, static, size or mckp, by the curves of
examples/allocate/gekkofwd.csv, and moves the processes of running jobs.

What is real: the layer with its 12 I/O nodes and controller, decisions and moves under load, eight
processes a job that write files through it, whose contents are compared at the end. What is
emulated: why a job has the bandwidth that it has. On one machine twelve I/O nodes are not faster than
one, so a job writes at the rate that its curve has for the number of nodes that `sluice status` shows for
it at the moment, looked at ten times a second. The compute nodes of a job are free when status does not
show I/O nodes for it any more: the next job of a queue takes some time to start.

Scaled: bandwidth by 100. Time by 50; and since the volumes of the paper's Table 3 make jobs of 0.5 s
beside jobs of 360 s with 4 I/O nodes, none is shorter than 40 s or longer than 100 s there, of the paper's
time. (With the volumes of the paper the model says 28, 65, 65 and 265 MB/s for the four policies.)

The model is the same queue without processes and without delays, decided by `sluice allocate`. Live, a
job has its rate a tenth of a second or two after the decision, which costs the short ones most.
"""
import csv, os, time

from lab import HERE, Control, Stream, said, table

QUEUE = ("HACC IOR-MPI SIM IOR-MPI IOR-MPI POSIX-S POSIX-L BT-C MAD MAD S3D HACC HACC BT-D").split()
VOLUME_MB = {"BT-C": 12600, "BT-D": 253000, "HACC": 1800, "IOR-MPI": 32000, "POSIX-S": 32000,  # Table 3
             "POSIX-L": 64000, "MAD": 32400, "SIM": 19600, "S3D": 33700}
COMPUTE_NODES, IONODES = 96, 12
SLOWER = 100           # bandwidth
SHORT, LONG = 40, 100  # seconds of the paper's time that a job takes at least and at most with 4 I/O nodes
PROCS = 8              # of each job here: as many as I/O nodes can serve one
CALL = 16 << 10
PAPER = {"static": 8410.0, "mckp": 16020.0}  # MB/s, section 5.3; of the other two there is only the figure
POLICIES = ("one", "static", "size", "mckp")


class Job:
    def __init__(self, index, app, rows, faster):
        self.index, self.name = index, f"{app}-{index}"
        self.curve = {int(r["ionodes"]): float(r["bandwidth"]) / SLOWER for r in rows if int(r["ionodes"])}
        self.nodes, self.procs = int(rows[0]["nodes"]), int(rows[0]["procs"])
        mb = min(max(VOLUME_MB[app] / SLOWER, SHORT * self.curve[4]), LONG * self.curve[4]) / faster
        self.bytes = max(round(mb * 1e6 / PROCS / CALL), 1) * CALL  # of each process
        self.mb = self.bytes * PROCS / 1e6

    def rate(self, ionodes):
        """MB/s; a number between two points of the curve is used as the lower one."""
        return self.curve[max((n for n in self.curve if n <= ionodes), default=min(self.curve))]


def read_queue(faster):
    with open(os.path.join(HERE, "../allocate/gekkofwd.csv")) as f:
        rows = list(csv.DictReader(f))
    return [Job(i, app, [r for r in rows if r["job"] == app], faster) for i, app in enumerate(QUEUE)]


def write_curves(path, jobs):
    """Each job of the queue has a name of its own; there is no direct access in that experiment."""
    with open(path, "w") as f:
        f.write("job,ionodes,bandwidth,nodes,procs\n")
        for j in jobs:
            f.writelines(f"{j.name},{n},{bw:.6f},{j.nodes},{j.procs}\n" for n, bw in j.curve.items())


class Queue:
    """Strictly in order: the next job starts when there is room for it."""

    def __init__(self, jobs):
        self.waiting, self.free = list(jobs), COMPUTE_NODES

    def next(self):
        if self.waiting and self.waiting[0].nodes <= self.free:
            self.free -= self.waiting[0].nodes
            return self.waiting.pop(0)
        return None

    def ended(self, job):
        self.free += job.nodes


def model(lab, jobs, policy, curves):
    queue, left, begun, done, now, known = Queue(jobs), {}, {}, {}, 0.0, {}
    while queue.waiting or left:
        while job := queue.next():
            left[job], begun[job] = job.mb, now
        names = ",".join(j.name for j in left)
        if names not in known:
            known[names] = lab.ask("allocate", "--ionodes", str(IONODES), "--no-direct", "--compute-nodes",
                                   str(COMPUTE_NODES), "--policy", policy, "--jobs", names, curves)["jobs"]
        rate = {j: a["bandwidth"] for j, a in zip(left, known[names])}
        step = min(left[j] / rate[j] for j in left)
        now += step
        for j in list(left):
            left[j] -= rate[j] * step
            if left[j] < 1e-9:
                del left[j]
                done[j] = j.mb / (now - begun[j])
                queue.ended(j)
    return {"bandwidth": sum(done.values()), "makespan_s": now, "jobs": {j.name: done[j] for j in jobs}}


def live(lab, jobs, policy):
    control = Control(lab)
    served = {j.name: [0.0, 0] for j in jobs}  # sum and number of what was seen
    left = set()  # jobs that were served, and are not any more: the controller has given their nodes back
    by_name = {j.name: j for j in jobs}

    def seen(status):
        gone = {j for j in jobs if served[j.name][1]}
        for s in status["jobs"]:
            job, n = by_name.get(s["job"]), len(s.get("ionodes") or [])
            if job and n and s["clients"]:
                control.rate(job.index, job.rate(n) * 1e6)
                served[job.name][0] += n
                served[job.name][1] += 1
            if n or s["clients"]:
                gone.discard(job)
        left.update(gone)

    mine = os.path.join(lab.tmp, "curves.csv")  # the controller adds to it what it sees
    write_curves(mine, jobs)
    with lab.layer("--ionodes", str(IONODES), "--workers", "1", "--policy", f"allocate={policy}", "--curves", mine,
                   "--compute-nodes", str(COMPUTE_NODES)):
        lab.watch(seen)
        queue, running, done, going, begin = Queue(jobs), [], [], set(), time.time()
        while queue.waiting or running:
            while job := queue.next():
                s = Stream(lab, control, job.name, PROCS, CALL, bytes=job.bytes, index=job.index)
                s.start("--nodes", str(job.nodes), "--procs", str(job.procs))
                running.append((job, s))
            for job, s in list(running):
                if s.process.poll() is not None:
                    s.end()
                    running.remove((job, s))
                    done.append((job, s))
                    going.add(job)
            for job in going & left:
                going.remove(job)
                queue.ended(job)
            time.sleep(0.005)
        makespan = time.time() - begin
        epoch = lab.ask("status")["controller"]["epoch"]
    for _, s in done:
        s.verify()
    bandwidth = {job.name: s.moved / 1e6 / (s.ended - s.begin)
                 for job, s in sorted(done, key=lambda d: d[0].index)}
    return {"bandwidth": sum(bandwidth.values()), "makespan_s": makespan, "decisions": epoch, "jobs": bandwidth,
            "ionodes": {name: total / n if n else None for name, (total, n) in served.items()}}


def run(lab, args):
    faster = args.scale or (250 if args.quick else 50)
    jobs = read_queue(faster)
    curves = os.path.join(lab.tmp, "all.csv")
    write_curves(curves, jobs)
    result = {"experiment": "gekkofwd", "ionodes": IONODES, "time_scale": faster, "bandwidth_scale": SLOWER, "policies": []}
    for policy in ("static", "mckp") if args.quick else POLICIES:
        row = {"policy": policy, "live": live(lab, jobs, policy), "model": model(lab, jobs, policy, curves),
               "paper_mbps": PAPER.get(policy), "verified": True}
        result["policies"].append(row)
        said(f"{policy} done, {row['live']['makespan_s']:.1f} s")
    of = {r["policy"]: r for r in result["policies"]}
    for who in ("live", "model"):
        result[f"mckp_to_static_{who}"] = of["mckp"][who]["bandwidth"] / of["static"][who]["bandwidth"]
    result["mckp_to_static_paper"] = PAPER["mckp"] / PAPER["static"]
    return result


def show(result):
    of = {r["policy"]: r for r in result["policies"]}
    print(f"Bandwidth of each job in MB/s, and the mean number of I/O nodes it was served by; 1/{SLOWER} of the paper's")
    table(["job"] + [w for p in of for w in (f"{p}:2", "nodes:1")] + ["mckp, model:2"],
          [[name] + [v for p in of for v in (of[p]["live"]["jobs"][name], of[p]["live"]["ionodes"][name])]
           + [of["mckp"]["model"]["jobs"][name]] for name in of["mckp"]["live"]["jobs"]])
    print("\nAggregate bandwidth as in Figure 9, MB/s, and time until the last job ended, s")
    table(["policy", "live:1", "model:1", f"paper/{SLOWER}:1", "live s:1", "model s:1", "decisions:0"],
          [[p, r["live"]["bandwidth"], r["model"]["bandwidth"], r["paper_mbps"] and r["paper_mbps"] / SLOWER,
            r["live"]["makespan_s"], r["model"]["makespan_s"], r["live"]["decisions"]] for p, r in of.items()])
    print("\nmckp / static: {mckp_to_static_live:.2f} live, {mckp_to_static_model:.2f} model, "
          "{mckp_to_static_paper:.2f} paper".format(**result))
    print("The paper's jobs were not as fast as its curves: HACC had 987 MB/s with one I/O node, its curve says 155.")
    print("All files hold what was written.")
