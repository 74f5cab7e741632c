"""Compares the lengths that `evenkeelctl stats --processor` counts for media with transformers' own processors.

Run by run.sh (`lengths`). Each case of media_cases.py gets 1,000 media (audio of Qwen2-Audio and Voxtral, where the
spectra are computed, 200):
- images: half log-uniform in both sides (4 to 8,192 pixels: transformers takes 3 rows for channels), a quarter of
  log-uniform area with an aspect ratio of 10 to 190, a quarter within 2 pixels of a multiple of the step;
- videos: such images from 32 pixels a side to 4,096, 64 to 20,000 frames (log-uniform; 2,000
  where all may be taken) at 5 to 60 fps;
- recordings: half log-uniform from 0.1 seconds on, half within 3 samples of a multiple of 160, at 16 kHz.
Prints a line per case. With --vectors FILE it writes 10 records of each case and what they become, which the tests of
the C++ and the Python reader read.
"""
import argparse
import collections
import json
import math
import os
import random
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
import transformers  # noqa: E402  (after the environment)

from media_cases import CASES, qwen2_audio, voxtral_audio  # noqa: E402

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "build", "bin", "evenkeelctl")
COUNT = 1000
TEXT_TOKENS = 7
VECTORS = 10


def log_uniform(draw, low, high):
    return round(math.exp(draw.uniform(math.log(low), math.log(high))))


def sizes(draw, step, least, most, count):
    found = []
    while len(found) < count:
        if len(found) % 4 < 2:
            width, height = log_uniform(draw, least, most), log_uniform(draw, least, most)
        elif len(found) % 4 == 2:
            area, aspect = log_uniform(draw, 1000, 10**7), log_uniform(draw, 10, 190)
            width, height = math.ceil(math.sqrt(area * aspect)), math.ceil(math.sqrt(area / aspect))
            if draw.random() < 0.5:
                width, height = height, width
        else:
            width, height = (max(1, step * draw.randint(1, 60) + draw.randint(-2, 2)) for _ in range(2))
        if min(width, height) >= 4 and max(width, height) <= 190 * min(width, height):
            found.append((width, height))
    return found


def records_of(case, seed):
    draw = random.Random(seed)
    step = 32 if "Qwen" in case["owner"] else 28
    if case["kind"] == "images":
        return [{"images": [list(size)]} for size in sizes(draw, step, 4, 8192, COUNT)]
    if case["kind"] == "videos":
        most = 20000 if case["video"].get("do_sample_frames") else 2000
        return [{"videos": [{"width": width, "height": height, "frames": log_uniform(draw, 64, most),
                             "fps": draw.choice([5, 12, 15, 23.976, 24, 25, 29.97, 30, 50, 60])}]}
                for width, height in sizes(draw, step, 32, 4096, COUNT)]
    count = COUNT // 5 if case["expected"] in (qwen2_audio, voxtral_audio) else COUNT
    most = case["most_seconds"] * 16000
    samples = [log_uniform(draw, 1600, most) if i % 2 == 0 else
               max(1600, 160 * draw.randint(10, most // 160) + draw.randint(-3, 3)) for i in range(count)]
    return [{"audios": [{"samples": count, "rate": 16000}]} for count in samples]


def write(folder, name, content):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        json.dump(content, file)


def counted(case, records):
    """Lengths by the tool: vision units, audio units, tokens, and how many samples."""
    with tempfile.TemporaryDirectory() as folder:
        write(folder, "preprocessor_config.json", case["preprocessor"])
        write(folder, "processor_config.json", case["processor"])
        if "video" in case:
            write(folder, "video_preprocessor_config.json", case["video"])
        lengths = os.path.join(folder, "lengths.jsonl")
        with open(lengths, "w", encoding="utf-8") as file:
            for record in records:
                file.write(json.dumps({"text_tokens": TEXT_TOKENS, **record}) + "\n")
        answer = subprocess.run([TOOL, "--output", "json", "stats", "--processor", folder, lengths],
                                capture_output=True, text=True)
    if answer.returncode != 0 or answer.stderr:
        sys.exit(f"{case}: {answer.stderr}")
    told = json.loads(answer.stdout)
    bins = zip(told.get("units", [0] * len(told["llm_tokens"])), told["llm_tokens"], told["sample_count"])
    audio = case["kind"] == "audios"
    return collections.Counter({(0 if audio else int(u), int(u) if audio else 0, int(t) - TEXT_TOKENS): int(n)
                                for u, t, n in bins})


def vectors(path, answers):
    kept = []
    for case, records, lengths in answers:
        step = max(1, len(records) // VECTORS)
        kept.append({"preprocessor": case["preprocessor"], "processor": case["processor"],
                     "video": case.get("video", {}), "records": records[::step][:VECTORS],
                     "lengths": [list(map(int, length)) for length in lengths[::step][:VECTORS]]})
    with open(path, "w", encoding="utf-8") as file:
        file.write("[\n" + ",\n".join(json.dumps(case, separators=(",", ":")) for case in kept) + "\n]\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--vectors")
    options = parser.parse_args()
    failed = 0
    transformers.logging.set_verbosity_error()
    answers = []
    for number, case in enumerate(CASES):
        records = records_of(case, number)
        lengths = case["expected"](case, records)
        answers.append((case, records, lengths))
        theirs = collections.Counter(tuple(map(int, length)) for length in lengths)
        ours = counted(case, records)
        same = theirs == ours
        failed += not same
        name = (case.get("video") or case["preprocessor"]).copy()
        print(f"{'ok    ' if same else 'FAILED'} {case['owner']} {json.dumps(name)}: {len(records)} {case['kind']}, "
              f"{sum((theirs & ours).values())} equal", flush=True)
        if not same:
            print("       theirs only", list((theirs - ours).items())[:5])
            print("       ours only", list((ours - theirs).items())[:5])
    if options.vectors:
        vectors(options.vectors, answers)
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
