"""Reads Megatron's --pipeline-model-parallel-layout by its documented grammar, independently of Megatron and of the
planner. Returns what runs on each stage, or raises a LayoutError.

Grammar (megatron/core/transformer/pipeline_parallel_layer_layout.py): letters E (embedding), t (transformer layer), m
(predicted token), L (loss); `|` between chunks; `x*n` repeats a letter, `(...)*n` a group without inner parentheses;
commas are decoration. Chunk c of stage s is entry c * P + s of P stages.
"""


class LayoutError(ValueError):
    """The layout breaks a rule of Megatron."""


def expand(text):
    """Returns the letters and bars of a layout, expanded."""
    out, at = [], 0
    text = text.replace(",", "")

    def number(at):
        end = at
        while end < len(text) and text[end].isdigit():
            end += 1
        if end == at:
            raise LayoutError(f"a number must follow * at {at} of {text!r}")
        return int(text[at:end]), end

    while at < len(text):
        if text[at] == "(":
            close = text.find(")", at)
            if close < 0 or "(" in text[at + 1:close]:
                raise LayoutError(f"unbalanced parentheses in {text!r}")
            group, at = text[at + 1:close], close + 1
        else:
            group, at = text[at], at + 1
        times = 1
        if at < len(text) and text[at] == "*":
            times, at = number(at + 1)
        out.append(group * times)
    expanded = "".join(out)
    if any(c.isdigit() or c in "()*" for c in expanded):
        return expand(expanded)
    return expanded


def parse(text, pipeline, layers, predicted=0):
    """Returns stages[s][c]: the number of transformer layers of chunk c of stage s."""
    chunks = expand(text).split("|")
    letters = "".join(chunks)
    if set(letters) - set("EtmL"):
        raise LayoutError(f"unknown letter in {text!r}")
    if len(chunks) % pipeline:
        raise LayoutError(f"{len(chunks)} chunks are not a multiple of {pipeline} stages")
    if not letters or letters[0] != "E" or letters.count("E") != 1:
        raise LayoutError("the first layer must be the embedding, once")
    if letters[-1] != "L" or letters.count("L") != 1:
        raise LayoutError("the last layer must be the loss, once")
    if letters.count("t") != layers:
        raise LayoutError(f"{letters.count('t')} transformer layers, but the model has {layers}")
    if letters.count("m") != predicted or (predicted and letters.rstrip("L").rstrip("m").count("m")):
        raise LayoutError(f"{letters.count('m')} predicted tokens, but the model has {predicted}, behind its layers")
    virtual = len(chunks) // pipeline
    for i, chunk in enumerate(chunks):
        if "m" in chunk and (i // pipeline != virtual - 1 or (pipeline > 1 and i % pipeline == 0 and virtual > 1)):
            raise LayoutError("predicted tokens belong to the last chunk of a stage")
        if chunk.count("m") not in (0, predicted):
            raise LayoutError("predicted tokens must be in one chunk")
    return [[chunks[c * pipeline + s].count("t") for c in range(virtual)] for s in range(pipeline)]
