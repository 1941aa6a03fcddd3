#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of the concept pages from what `sluice` computes today.

    docs/concepts/draw.py build/cli/sluice [DIRECTORY]

writes stages.svg, allocate.svg, grant.svg, admit.svg, share.svg and order.svg to DIRECTORY, by default
beside this file. Nothing is measured: the commands are simulations, and repeat exactly. A test draws
them again and compares. Colours are those of the page of `sluice sim --html`, light and dark.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from html import escape

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
STYLE = """
:root { color-scheme: light dark }
text { font: 13px system-ui, sans-serif; fill: #1b1f24 }
.page { fill: #ffffff } .panel { fill: #f6f8fa; stroke: #d1d9e0 } .line { stroke: #d1d9e0 }
.soft { fill: #59636e } .head { font-weight: 600 } .mark { stroke: #1b1f24; stroke-width: 2 }
.end { text-anchor: end } .mid { text-anchor: middle } .arrow { stroke: #59636e; fill: none; stroke-width: 1.5 }
.a { fill: #b9cbe0 } .b { fill: #00664b } .c { fill: #e8590c } .on-b { fill: #ffffff } .on-c { fill: #0f1318 }
@media (prefers-color-scheme: dark) {
text { fill: #e6eaef }
.page { fill: #0f1318 } .panel { fill: #171c23; stroke: #353d47 } .line { stroke: #353d47 }
.soft { fill: #9aa5b1 } .mark { stroke: #e6eaef } .arrow { stroke: #9aa5b1 }
.a { fill: #3a4d66 } .b { fill: #3ecf9b } .c { fill: #ff8a3d } .on-b { fill: #0f1318 }
}"""


class Picture:
    """An SVG that grows; (0, 0) is top left."""

    def __init__(self, name, width, height, title, about):
        self.name, self.parts = name, []
        self.parts.append(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" role="img" aria-labelledby="title about">\n'
            f"<!-- drawn by docs/concepts/draw.py -->\n"
            f'<title id="title">{escape(title)}</title>\n<desc id="about">{escape(about)}</desc>\n'
            f"<style>{STYLE}\n</style>")
        self.rect(0, 0, width, height, "page")

    def rect(self, x, y, width, height, kind, rounded=0):
        self.parts.append(f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
                          f'height="{height:.1f}"' + (f' rx="{rounded}"' if rounded else "") + "/>")

    def text(self, x, y, words, kind=""):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}"' + (f' class="{kind}"' if kind else "") +
                          f">{escape(words)}</text>")

    def line(self, x1, y1, x2, y2, kind="line"):
        self.parts.append(f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')

    def arrow(self, x1, x2, y):
        self.parts.append(f'<path class="arrow" d="M{x1} {y}H{x2}m-6 -4l6 4l-6 4"/>')

    def legend(self, x, y, entries):
        for kind, words in entries:
            self.rect(x, y - 10, 12, 12, kind)
            self.text(x + 18, y, words, "soft")
            x += 40 + 7.2 * len(words)

    def write(self, directory):
        with open(os.path.join(directory, self.name), "w", encoding="utf-8") as f:
            f.write("\n".join(self.parts) + "\n</svg>\n")


def ask(sluice, *arguments):
    """JSON that a command prints, run at the top of the sources."""
    run = subprocess.run([sluice, *arguments, "--json"], cwd=ROOT, check=True, capture_output=True)
    return json.loads(run.stdout)


def stages(sluice):
    p = Picture("stages.svg", 760, 190, "The five stages",
                "Jobs pass allocate, grant, admit, share and order on their way to the file system.")
    names = ["allocate", "grant", "admit", "share", "order"]
    asks = [["how many", "I/O nodes", "for each job"], ["which jobs", "do I/O now,", "how fast"],
            ["may this job", "send now"], ["whose turn", "is it"], ["which of its", "requests,", "merged"]]
    p.text(10, 82, "jobs", "head")
    p.text(690, 76, "file", "head")
    p.text(690, 92, "system", "head")
    for i, name in enumerate(names):
        x = 66 + 126 * i
        p.arrow(x - 22, x - 3, 77)
        p.rect(x, 30, 100, 94, "panel", 6)
        p.text(x + 50, 52, name, "head mid")
        for k, words in enumerate(asks[i]):
            p.text(x + 50, 74 + 17 * k, words, "soft mid")
    p.arrow(670, 686, 77)
    for x, width, words in ((66, 226, "the controller: jobs and phases, milliseconds"),
                            (318, 352, "an I/O node: requests, microseconds")):
        p.line(x, 140, x + width, 140, "mark")
        p.text(x + width / 2, 162, words, "soft mid")
    return p


def allocate(sluice):
    jobs = "BT-C,BT-D,IOR-MPI,POSIX-L,MAD,S3D"
    base = ["allocate", "--ionodes", "12", "--jobs", jobs, "examples/allocate/gekkofwd.csv"]
    best = ask(sluice, *base)
    static = ask(sluice, *base, "--policy", "static", "--compute-nodes", "384")
    p = Picture("allocate.svg", 720, 300, "Bandwidth of six jobs with 12 I/O nodes, static and mckp",
                f"mckp gives IOR-MPI eight I/O nodes and reaches {best['bandwidth']:.0f} MB/s in all; "
                f"static reaches {static['bandwidth']:.0f} MB/s.")
    p.text(10, 22, "12 I/O nodes for six jobs: MB/s, and how many nodes each has", "head")
    p.legend(10, 44, [("a", f"static: {static['bandwidth']:.0f} MB/s in all"),
                      ("b", f"mckp: {best['bandwidth']:.0f} MB/s in all")])
    scale = 480 / max(j["bandwidth"] for j in best["jobs"])
    for i, (s, m) in enumerate(zip(static["jobs"], best["jobs"])):
        y = 64 + 38 * i
        p.text(76, y + 19, s["job"], "end")
        for k, (job, kind) in enumerate(((s, "a"), (m, "b"))):
            width = max(1, job["bandwidth"] * scale)
            p.rect(84, y + 15 * k, width, 13, kind)
            nodes = "direct" if not job["ionodes"] else \
                f"{job['ionodes']} node" + ("s" if job["ionodes"] > 1 else "")
            p.text(90 + width, y + 11 + 15 * k, f"{job['bandwidth']:.0f}, {nodes}", "soft")
    return p


def grant(sluice):
    with tempfile.TemporaryDirectory() as d:
        page = os.path.join(d, "page.html")
        figures = ask(sluice, "sim", "docs/concepts/grant.yaml", "--per-app", "--html", page)
        with open(page, encoding="utf-8") as f:
            data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>',
                                        f.read(), re.S).group(1))
    start, end = data["window"]
    x0, scale = 90, 570 / (end - start)
    p = Picture("grant.svg", 760, 384, "One frequent and two rare jobs under three grant policies",
                "Under set-10 the frequent job hardly waits, and the rare ones do their I/O one after "
                "the other.")
    p.text(10, 22, f"What each job does from {start} s to {end} s", "head")
    p.legend(10, 44, [("a", "computes"), ("b", "does I/O"), ("c", "waits")])
    p.text(750, 44, "times longer than alone", "soft end")
    for i, (policy, figure) in enumerate(zip(data["policies"], figures["policies"])):
        y = 70 + 104 * i
        p.text(10, y, policy["name"], "head")
        for k, row in enumerate(policy["rows"]):
            top = y + 10 + 24 * k
            p.text(84, top + 14, data["apps"][k], "end")
            now = row[0] * data["tick_s"]
            for entry in row[1:]:
                length, state = (entry >> 3) * data["tick_s"], entry & 7
                left, right = max(now, start), min(now + length, end)
                now += length
                if right - left > 1e-3:
                    p.rect(x0 + (left - start) * scale, top, (right - left) * scale, 18, "abc"[state])
            p.text(750, top + 14, f"{figure['apps'][k]['stretch']:.2f}", "end")
    for t in range(start, end + 1, 30):
        p.text(x0 + (t - start) * scale, 374, f"{t} s", "soft mid")
    return p


def admit(sluice):
    found = ask(sluice, "sim", "--requests", "docs/concepts/admit.yaml", "--per-app")["policies"]
    p = Picture("admit.svg", 720, 250, "Three jobs without and with limits",
                "With token-bucket, model has its guarantee of 100 MB/s and backup its limit of 20 MB/s.")
    p.text(10, 22, "MB/s of three jobs on a node of 200 MB/s", "head")
    p.legend(10, 44, [("a", "admit=open"), ("b", "admit=token-bucket")])
    limits = {"model": (100, "min 100"), "backup": (20, "max 20")}
    for i, (before, after) in enumerate(zip(found[0]["apps"], found[1]["apps"])):
        y = 66 + 60 * i
        p.text(62, y + 26, before["name"], "end")
        for k, (app, kind) in enumerate(((before, "a"), (after, "b"))):
            p.rect(70, y + 20 * k, 5 * app["mb_per_s"], 17, kind)
            p.text(78 + 5 * app["mb_per_s"], y + 13 + 20 * k, f"{app['mb_per_s']:.1f}", "soft")
        if before["name"] in limits:
            rate, words = limits[before["name"]]
            p.line(70 + 5 * rate, y - 4, 70 + 5 * rate, y + 41, "mark")
            p.text(70 + 5 * rate, y + 54, words, "soft mid")
    return p


def share(sluice):
    found = ask(sluice, "sim", "--requests", "docs/concepts/share.yaml", "--per-app")["policies"]
    p = Picture("share.svg", 720, 240, "200 MB/s shared by three jobs under four policies",
                "fifo favours the job with most requests; wfq follows the weights; io-sets the periods.")
    p.text(10, 22, "Who has how much of 200 MB/s", "head")
    p.legend(10, 44, [("a", "wide: 12 requests waiting"), ("b", "heavy: 4, weight 3"),
                      ("c", "often: 4, period 1 s")])
    for i, policy in enumerate(found):
        y, x = 62 + 44 * i, 100.0
        p.text(92, y + 20, policy["name"].split("=")[1], "end")
        for app, kind in zip(policy["apps"], "abc"):
            width = 3 * app["mb_per_s"]
            p.rect(x, y, width, 30, kind)
            if width > 40:
                p.text(x + width / 2, y + 20, f"{app['mb_per_s']:.0f}", {"a": "mid", "b": "mid on-b", "c": "mid on-c"}[kind])
            x += width
    return p


def order(sluice):
    found = ask(sluice, "sim", "--requests", "docs/concepts/order.yaml", "--per-app")["policies"]
    p = Picture("order.svg", 720, 220, "The same writes in five orders on a disk",
                "Merging neighbours turns 2048 operations of 32 KiB into a quarter as many, and 12 s "
                "into 3.4 s.")
    p.text(10, 22, "Seconds to write 64 MiB in pieces of 32 KiB, and operations of the disk", "head")
    longest = max(policy["makespan_s"] for policy in found)
    for i, policy in enumerate(found):
        y, width = 42 + 34 * i, policy["makespan_s"] * 440 / longest
        p.text(72, y + 16, policy["name"].split("=")[1], "end")
        p.rect(80, y, width, 22, "b" if i else "a")
        p.text(88 + width, y + 16, f"{policy['makespan_s']:.1f} s, {policy['device_ops']} operations",
               "soft")
    return p


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(f"usage: {sys.argv[0]} SLUICE [DIRECTORY]")
    sluice = os.path.abspath(sys.argv[1])
    for draw in (stages, allocate, grant, admit, share, order):
        draw(sluice).write(sys.argv[2] if len(sys.argv) == 3 else HERE)


main()
