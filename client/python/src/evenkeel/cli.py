"""`python -m evenkeel stats FILE...`"""
from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

import numpy as np

from . import media, stats
from ._version import __version__
from .lengths import LengthFileError, SampleLengths, read_lengths
from .processor import Processor


def _table(counts: stats.LengthCounts) -> str:
    rows = [["", "mean", "min", *(f"p{p}" for p in stats.PERCENTILES), "max"]]
    columns = counts.units.reshape(counts.tokens.size, -1).T
    names = ["units"] if len(columns) == 1 else [f"units of encoder {e + 1}" for e in range(len(columns))]
    quantities = [("tokens", counts.tokens)] + [(n, c) for n, c in zip(names, columns) if c.any()]
    for name, values in quantities:
        summary = stats.summarize(values, counts.count)
        rows.append([name, f"{summary.mean:,.2f}", f"{summary.min:,}", *(f"{v:,}" for v in summary.percentiles),
                     f"{summary.max:,}"])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(w) if i == 0 else cell.rjust(w)
                               for i, (cell, w) in enumerate(zip(row, widths))).rstrip() for row in rows)


def _describe(binned: stats.Histogram) -> str:
    size = f"{binned.size_bytes:,} bytes"
    if binned.exact:
        return f"exact: {binned.distinct:,} distinct lengths, {size}"
    units = f" and {binned.unit_width:,} units wide" if binned.unit_width > 1 else ""
    return (f"{binned.distinct:,} distinct lengths in {binned.sample_count.size:,} bins {binned.token_width:,} tokens "
            f"wide{units} (each stands for its mean length), {size}")


def _write_job(path: str, out: str, binned: stats.Histogram) -> None:
    """Writes the job of `path` with this dataset."""
    with open(path, encoding="utf-8") as file:
        request = json.load(file)
    if not isinstance(request, dict):
        raise ValueError(f"{path} holds no JSON object")
    job = request.get("job", request) if "job" in request else request
    job["dataset"] = {"histogram": binned.to_json()}
    with open(out, "w", encoding="utf-8") as file:
        json.dump(request, file, indent=1)
        file.write("\n")


def _samples(options: argparse.Namespace) -> SampleLengths:
    if not options.processor:
        return read_lengths(options.files, column=options.column, units_column=options.units_column,
                            image_units=options.image_units)
    processor = Processor(options.processor)
    if processor.unread:
        print(f"evenkeel: settings that are not understood, and not followed: {', '.join(processor.unread)}",
              file=sys.stderr)
    samples = media.read_media_lengths(options.files, processor, text_tokens=options.text_tokens,
                                       skip_bad=options.skip_bad)
    if samples.bad:
        print(f"evenkeel: {len(samples.bad):,} bad samples left out of {len(samples) + len(samples.bad):,}:",
              *(f"  {place}: {why}" for place, why in samples.bad), sep="\n", file=sys.stderr)
    return samples


def _stats(options: argparse.Namespace) -> int:
    samples = _samples(options)
    counts = stats.LengthCounts.of(samples)
    binned = stats.histogram(counts)
    if options.histogram_out:
        with open(options.histogram_out, "w", encoding="utf-8") as file:
            file.write(stats.dump(binned))
    if options.job:
        _write_job(options.job, options.job_out, binned)
    if options.npy_out:
        np.save(options.npy_out, np.column_stack([samples.units, samples.tokens]))
    if options.output == "json":
        sys.stdout.write(stats.dump(binned))
        return 0
    files = len(options.files)
    print(f"{counts.samples:,} samples in {files} file{'' if files == 1 else 's'}\n\n{_table(counts)}\n\n"
          f"histogram  {_describe(binned)}")
    if options.histogram_out:
        print(f"Written to {options.histogram_out}: evenkeelctl plan --dataset {options.histogram_out}")
    if options.job:
        print(f"Written to {options.job_out}: evenkeelctl plan --job {options.job_out}")
    return 0


def parser() -> argparse.ArgumentParser:
    parse = argparse.ArgumentParser(prog="evenkeel", description="Tools of the Evenkeel Python package")
    parse.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parse.add_subparsers(dest="command", required=True)
    command = commands.add_parser(
        "stats", help="turn sample lengths into a histogram",
        description=f"{read_lengths.__globals__['__doc__']}\nWith --processor:\n\n{media.__doc__}",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument("files", nargs="+", metavar="FILE", help="length files, joined")
    command.add_argument("--column", help="column or key of tokens [token_num, llm_tokens or length]")
    command.add_argument("--units-column", help="column or key of units [vit_num or units]")
    command.add_argument("--image-units", type=int, metavar="N",
                         help="units of samples with an image, where LLaVA's sign alone says which have one")
    command.add_argument("--processor", metavar="PATH",
                         help="a model's preprocessor_config.json or the like, or the folder of its checkpoint: FILEs "
                              "hold media, of which only headers are read")
    command.add_argument("--text-tokens", type=int, metavar="N",
                         help="tokens of text of samples without such a count, with --processor")
    command.add_argument("--skip-bad", action="store_true",
                         help="leave out samples with media that cannot be read, and list them on standard error, "
                              "with --processor")
    command.add_argument("--output", choices=("table", "json"), default="table", help="json: the histogram [table]")
    command.add_argument("--histogram-out", metavar="FILE", help="write the histogram (evenkeelctl plan --dataset)")
    command.add_argument("--npy-out", metavar="FILE",
                         help="write units (of each encoder) and tokens, N x 2 or more (evenkeelctl pack)")
    command.add_argument("--job", metavar="FILE", help="a job in JSON, to be given this dataset")
    command.add_argument("--job-out", metavar="FILE", help="where to write that (evenkeelctl plan --job)")
    return parse


def main(arguments: Sequence[str] | None = None) -> int:
    parse = parser()
    options = parse.parse_args(arguments)
    if bool(options.job) != bool(options.job_out):
        parse.error("--job and --job-out belong together")
    if options.processor:
        if options.column or options.units_column or options.image_units is not None:
            parse.error("--column, --units-column and --image-units do not go with --processor")
    elif options.text_tokens is not None or options.skip_bad:
        parse.error("--text-tokens and --skip-bad need --processor")
    try:
        return _stats(options)
    except (LengthFileError, OSError, ValueError, ImportError) as error:
        print(f"evenkeel: {error}", file=sys.stderr)
        return 2
