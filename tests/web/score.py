"""Scores what `kilter read --jsonl` makes of the two gold sets, and the same of other extractors.

    python3 tests/web/score.py --kilter target/release/kilter [--peers PEERS_BINARY] [--python] [--set articles|markers]
                               [--half even|odd] [--worst N] [--markdown]

The gold sets are read from $KILTER_CORPUS/web (default ../shared/corpus/web). Definitions:

articles  per page the overlap of 4-grams of words (`\\w+`, as multisets) with the article's text; mean precision and
          mean recall over the pages; F1 of the two means.
markers   every wanted string found is a true positive, missed a false negative; every unwanted string found is a false
          positive; white space is folded on both sides; F1 over all strings.

Behind each F1 stands the middle 95 % over draws of the pages: what another set of as many pages of the kind may give.

Extractors that answer in Markdown have its syntax taken away first.
"""

import argparse
import base64
import collections
import gzip
import json
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import time

WORD = re.compile(r"\w+", re.UNICODE)


def corpus():
    root = pathlib.Path(os.environ.get("KILTER_CORPUS", "../shared/corpus")) / "web"
    if not root.is_dir():
        sys.exit(f"score: no gold sets at `{root}`; set KILTER_CORPUS")
    return root


def load(root, name):
    """Rows of {id, html (bytes), url} with the gold under `gold`."""
    rows = []
    if name == "articles":
        gold = json.loads((root / "articles/ground-truth.json").read_text())
        for key in sorted(gold):
            html = gzip.decompress((root / f"articles/html/{key}.html.gz").read_bytes())
            rows.append({"id": key, "html": html, "url": gold[key].get("url") or "https://example.test/", "gold": gold[key]})
    else:
        gold = json.loads((root / "markers/evaldata.json").read_text())
        for url in sorted(gold):
            html = gzip.decompress((root / f"markers/html/{gold[url]['file']}.gz").read_bytes())
            rows.append({"id": url, "html": html, "url": url, "gold": gold[url]})
    return rows


def lines(rows):
    return "".join(
        json.dumps({"id": r["id"], "html_b64": base64.b64encode(r["html"]).decode(), "url": r["url"]}) + "\n" for r in rows
    )


def run(command, rows):
    """Texts and milliseconds by id, from a program that speaks the line protocol."""
    before = os.times()
    done = subprocess.run(command, input=lines(rows).encode(), stdout=subprocess.PIPE, check=False)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    if done.returncode not in (0, 1):
        sys.exit(f"score: `{' '.join(command)}` ended with {done.returncode}")
    out = {}
    for line in done.stdout.decode().split("\n"):
        if not line:
            continue
        answer = json.loads(line)
        out[answer["id"]] = answer
    return out, cpu


def run_python(rows, **options):
    import trafilatura

    before = os.times()
    out = {}
    for row in rows:
        begin = time.process_time()
        text = trafilatura.extract(row["html"], include_comments=False, **options) or ""
        out[row["id"]] = {"text": text, "ms": (time.process_time() - begin) * 1000}
    after = os.times()
    return out, after.user + after.system - before.user - before.system


def strip_markdown(text):
    text = re.sub(r"(?m)^\s*```[^\n]*$", "", text)
    text = re.sub(r"(?m)^\s*\|?[\s:|-]*-{3,}[\s:|-]*\|?\s*$", "", text)
    text = re.sub(r"!\[([^\]]*)\]\((?:<[^>]*>|[^()\s]*(?:\([^()]*\)[^()\s]*)*)(?:\s+\"[^\"]*\")?\)", r"\1", text)
    text = re.sub(r"\[((?:\\.|[^\]\\])*)\]\((?:<[^>]*>|[^()\s]*(?:\([^()]*\)[^()\s]*)*)(?:\s+\"[^\"]*\")?\)", r"\1", text)
    text = re.sub(r"(?m)^\s{0,12}(?:#{1,6}|>|[-*+]|\d+[.)])\s+", "", text)
    text = re.sub(r"(?m)^\s{0,3}(?:>\s?)+", "", text)
    text = text.replace("|", " ")
    text = re.sub(r"\\([\\`*_{}\[\]()#+\-.!~<>|$&=:])", r"\1", text)
    text = re.sub(r"(\*\*|__|~~|`)", "", text)
    text = re.sub(r"(?<!\w)[*_]|[*_](?!\w)", "", text)
    return text


def grams(text, n=4):
    words = WORD.findall(text or "")
    return collections.Counter(tuple(words[i : i + n]) for i in range(max(1, len(words) - n + 1)))


def ratio(hit, other, fp, fn):
    if fp == fn == 0 or hit + other == 0:
        return 1.0
    return hit / (hit + other)


def combine_articles(parts):
    p, r = statistics.fmean(p for p, _ in parts), statistics.fmean(r for _, r in parts)
    return {"f1": 2 * p * r / (p + r) if p + r else 0.0, "precision": p, "recall": r}


def score_articles(rows, out):
    """Figures, the parts that they are made of (one for each page), and pages from worst to best with words."""
    parts, pages = [], []
    for row in rows:
        want, got = grams(row["gold"]["articleBody"]), grams(out.get(row["id"], {}).get("text", ""))
        tp = sum((want & got).values())
        fp, fn = sum(got.values()) - tp, sum(want.values()) - tp
        p, r = ratio(tp, fp, fp, fn), ratio(tp, fn, fp, fn)
        parts.append((p, r))
        pages.append((2 * p * r / (p + r) if p + r else 0.0, row["id"], f"p {p:.3f} r {r:.3f}"))
    return combine_articles(parts), parts, pages


def fold(text):
    return " ".join((text or "").split())


def combine_markers(parts):
    tp, fn, fp, tn = (sum(column) for column in zip(*parts))
    p, r = tp / max(1, tp + fp), tp / max(1, tp + fn)
    return {"f1": 2 * p * r / max(1e-9, p + r), "precision": p, "recall": r, "tp": tp, "fn": fn, "fp": fp, "tn": tn}


def score_markers(rows, out):
    """As [score_articles]."""
    parts, pages = [], []
    for row in rows:
        text = fold(out.get(row["id"], {}).get("text", ""))
        missed = [w for w in row["gold"].get("with", []) if fold(w) not in text]
        extra = [w for w in row["gold"].get("without", []) if fold(w) in text]
        wanted, unwanted = len(row["gold"].get("with", [])), len(row["gold"].get("without", []))
        parts.append((wanted - len(missed), len(missed), len(extra), unwanted - len(extra)))
        pages.append((-len(missed) - len(extra), row["id"], json.dumps({"missed": missed, "extra": extra}, ensure_ascii=False)))
    return combine_markers(parts), parts, pages


def interval(parts, combine, times=1000):
    """The middle 95 % of F1 over draws of as many pages, with replacement."""
    dice = random.Random(7)
    drawn = sorted(combine(dice.choices(parts, k=len(parts)))["f1"] for _ in range(times))
    return drawn[times * 25 // 1000], drawn[times * 975 // 1000 - 1]


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--kilter", help="the kilter binary, or any program that speaks `read --jsonl`")
    args.add_argument("--peers", help="the binary of tests/web/peers")
    args.add_argument("--engines", default="kilter,kilter-md,trafilatura,dom_smoothie,dom_smoothie-md")
    args.add_argument("--python", action="store_true", help="run Python trafilatura, which must be importable")
    args.add_argument("--set", choices=["articles", "markers"])
    args.add_argument("--half", choices=["even", "odd"], help="every other page, to tune on one half and check on the other")
    args.add_argument("--worst", type=int, default=0, help="list the worst pages of the first extractor")
    args.add_argument("--markdown", action="store_true", help="score the Markdown of --kilter as well as its text")
    args = args.parse_args()
    root = corpus()
    for name in [args.set] if args.set else ["articles", "markers"]:
        rows = load(root, name)
        if args.half:
            rows = rows[args.half == "odd" :: 2]
        print(f"{name}: {len(rows)} pages")
        score, combine = (
            (score_articles, combine_articles) if name == "articles" else (score_markers, combine_markers)
        )
        runs = []
        if args.kilter:
            out, cpu = run([args.kilter, "read", "--jsonl"], rows)
            runs.append(("kilter read --jsonl", out, cpu))
            if args.markdown:
                runs.append(("  its Markdown", {k: {"text": strip_markdown(v.get("markdown", ""))} for k, v in out.items()}, cpu))
        if args.peers:
            for engine in args.engines.split(","):
                out, cpu = run([args.peers, engine], rows)
                if engine.endswith("-md"):
                    out = {k: {**v, "text": strip_markdown(v["text"])} for k, v in out.items()}
                runs.append((f"{engine} (one thread)", out, cpu))
        if args.python:
            out, cpu = run_python(rows)
            runs.append(("trafilatura (Python)", out, cpu))
            out, cpu = run_python(rows, fast=True)
            runs.append(("trafilatura (Python, fast)", out, cpu))
        for label, out, cpu in runs:
            figures, parts, pages = score(rows, out)
            low, high = interval(parts, combine)
            counts = "".join(f"  {k} {v}" for k, v in figures.items() if isinstance(v, int))
            ms = [v["ms"] for v in out.values() if "ms" in v]
            timing = f"  ms/page median {statistics.median(ms):.2f} mean {statistics.mean(ms):.2f}" if ms else ""
            print(
                f"  {label:30} F1 {figures['f1']:.4f} ({low:.3f}-{high:.3f})  P {figures['precision']:.4f}  R {figures['recall']:.4f}"
                f"{counts}  cpu {cpu:.2f} s{timing}"
            )
        if args.worst and runs:
            for value, key, what in sorted(score(rows, runs[0][1])[2])[: args.worst]:
                print(f"    {value:.3f} {key}\n        {what[:600]}")


if __name__ == "__main__":
    main()
