import torch
import torch.nn as nn
import ctypes
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
__global__ void gated_residual(const float* x, const float* gate, const float* update, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  struct Pair { float low, high; } pair;
  asm("ld.global.v2.f32 %0, [%1];" : "=f"(pair) : "l"(gate + i));
  if (i < n) out[i] = x[i] + update[i] / (1.0f + expf(-pair.low));
}

extern "C" const char* launch(const float* x, const float* gate, const float* update, float* out, int n) {
  gated_residual<<<(n + 255) / 256, 256>>>(x, gate, update, out, n);
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}
"""

path = load_inline(
    name="gated_residual", cpp_sources="", cuda_sources=SOURCE, no_implicit_headers=True, is_python_module=False
)
library = ctypes.CDLL(path)
library.launch.restype = ctypes.c_char_p


class ModelNew(nn.Module):
    def forward(self, x, gate, update):
        out = torch.empty_like(x)
        pointers = [ctypes.c_void_p(t.data_ptr()) for t in (x, gate, update, out)]
        error = library.launch(*pointers, ctypes.c_int(x.numel()))
        if error:
            raise RuntimeError("CUDA error: " + error.decode())
        return out
