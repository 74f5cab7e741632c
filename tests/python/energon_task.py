"""A task encoder with evenkeel's packing, for test_streams.py."""
import dataclasses

from megatron import energon

from evenkeel.energon import EnergonPacking


@energon.edataclass
class Encoded(energon.Sample):
    index: int
    tiles: int
    ids: list


@energon.stateless
def cook(sample: energon.CrudeSample) -> Encoded:
    content = sample["json"]
    return Encoded(**energon.basic_sample_keys(sample), index=content["id"], tiles=content["tiles"], ids=content["ids"])


class Encoder(EnergonPacking, energon.DefaultTaskEncoder):
    cookers = [energon.Cooker(cook)]
    pack_caps = {"units": 9, "tokens": 4096}

    def pack_lengths(self, sample):
        return sample.tiles, len(sample.ids)

    @energon.stateless
    def pack_selected_samples(self, samples):
        return dataclasses.replace(samples[0], ids=[sample.index for sample in samples])

    def batch(self, samples):
        return samples[0].ids

    def encode_batch(self, batch):
        return batch
