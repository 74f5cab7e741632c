"""A tiny task for the training tests: sequences of two Markov chains, short ones of one chain and long ones of the
other, and a model that sees one token and guesses the next. The chain of a batch matters, so an order by length is
bad."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

VOCABULARY = 16


def lengths(count, seed):
    """Returns the lengths of `count` sequences: mostly short, some long."""
    chance = np.random.RandomState(seed)
    return np.clip(chance.lognormal(3.3, .8, count).astype(np.int64), 4, 250)


class Sequences(torch.utils.data.Dataset):
    """Item: (number, tokens). It is made from the number only, so that every process has the same items."""

    def __init__(self, sizes, seed):
        self.sizes, self.seed = sizes, seed
        chance = np.random.RandomState(99)
        self.chains = [np.cumsum(chance.dirichlet(np.full(VOCABULARY, .15), VOCABULARY), axis=1) for _ in range(2)]
        self.middle = np.median(sizes)

    def __len__(self):
        return len(self.sizes)

    def __getitem__(self, number):
        chance = np.random.RandomState((self.seed * 1_000_003 + number) % (1 << 32))
        chain = self.chains[int(self.sizes[number] > self.middle)]
        tokens = [chance.randint(VOCABULARY)]
        for draw in chance.rand(self.sizes[number] - 1):
            tokens.append(min(VOCABULARY - 1, int(np.searchsorted(chain[tokens[-1]], draw))))
        return number, torch.tensor(tokens)


class Cached(torch.utils.data.Dataset):
    """The items of Sequences, made beforehand, because many runs read them."""

    def __init__(self, dataset):
        self.items = [dataset[i] for i in range(len(dataset))]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, number):
        return self.items[number]


def collate(items):
    """Lays a pack end to end: (numbers, inputs, targets). The first token of a sequence has no loss."""
    return ([number for number, _ in items], torch.cat([tokens[:-1] for _, tokens in items]),
            torch.cat([tokens[1:] for _, tokens in items]))


class Model(nn.Module):
    def __init__(self, seed, dtype=torch.float32):
        super().__init__()
        torch.manual_seed(seed)
        self.embedding = nn.Embedding(VOCABULARY, 24)
        self.out = nn.Linear(24, VOCABULARY)
        self.to(dtype)

    def forward(self, inputs, targets):
        """Returns the sum of the token losses."""
        return F.cross_entropy(self.out(torch.tanh(self.embedding(inputs))), targets, reduction="sum")


def gradient(model):
    return torch.cat([p.grad.flatten() for p in model.parameters()]).clone()
