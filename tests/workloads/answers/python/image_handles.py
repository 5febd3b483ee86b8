# SPDX-License-Identifier: Apache-2.0
"""A binding to a C library: a small Python object for each image, the pixels are malloc's, and no one calls close()."""
import ctypes
import time

IMAGES_PER_SECOND = 40
C = ctypes.CDLL(None)
C.malloc.restype, C.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
C.free.argtypes = [ctypes.c_void_p]
PIXELS = 90_000


class Image:
    def __init__(self):
        self.pixels = C.malloc(PIXELS)
        ctypes.memset(self.pixels, 255, PIXELS)

    def close(self):
        C.free(self.pixels)


def thumbnail():
    image = Image()
    return ctypes.string_at(image.pixels, 16)


def main():
    begin, number = time.monotonic(), 0
    while True:
        while number < (time.monotonic() - begin) * IMAGES_PER_SECOND:
            thumbnail()
            number += 1
        time.sleep(0.02)


main()
