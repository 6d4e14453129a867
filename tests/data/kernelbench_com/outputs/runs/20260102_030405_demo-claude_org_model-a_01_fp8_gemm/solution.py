import torch
from torch.utils.cpp_extension import load_inline


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x * 8
