"""Videos: pictures one after the other into `.mp4` or `.gif`, one in memory at a time.

MP4 holds H.264 with 4:2:0 colours, which every browser and player knows, in the colours of BT.709, its index at the
front so that it starts before it is loaded. GIF has one palette of 255 colours for all pictures, without dithering, so
that what stands still does not flicker and costs nothing.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from shinari.errors import FileError, SceneError, require

ENCODERS = ("libx264", "libopenh264", "h264_videotoolbox", "h264_mf")
"""Encoders of H.264 that a build of FFmpeg may have, best first."""
QUALITY = "18"
"""Constant rate factor of x264: nothing of the loss is seen."""
PALETTE_PICTURES = 5
"""Pictures that the palette of a GIF is made from."""
GIF_TICKS = 100
"""A GIF counts in hundredths of a second."""


def check_video(suffix: str, size: tuple[int, int], fps: float | None) -> None:
    """Refuse what a format cannot show.

    Args:
        suffix: Extension of the video, `.mp4` or `.gif`.
        size: Width and height [pixels].
        fps: Pictures in a second, None as long as nobody asks for a number.

    Raises:
        SceneError: The width or the height of an MP4 is odd, which 4:2:0 does not know; or there cannot be so many
            pictures in a second: browsers show a GIF of more than 50 slowly.
    """
    if suffix == ".mp4" and (size[0] % 2 or size[1] % 2):
        raise SceneError(f"render: size: the width and height of an .mp4 are even, not {size[0]}x{size[1]}")
    if fps is not None and not (np.isfinite(fps) and 0.0 < fps <= 1000.0):
        raise SceneError(f"render: fps: is {fps:g}, expected a number above 0 and at most 1000")
    if fps is not None and suffix == ".gif" and fps > 50.0:
        raise SceneError(f"render: fps: a .gif shows at most 50 pictures in a second, not {fps:g}")


class VideoWriter(Protocol):
    """Takes the pictures of a video, one after the other."""

    def write(self, picture: np.ndarray) -> None:
        """Take a picture, shape (height, width, 3) uint8."""
        ...

    def close(self) -> None:
        """Finish the file."""
        ...


class Mp4Writer:
    """H.264 in an MP4 file.

    Args:
        path: File to write.
        size: Width and height [pixels], both even.
        fps: Pictures in a second.

    Raises:
        FileError: There is no encoder.
        MissingExtraError: av is not installed.
        SceneError: See `check_video`.
    """

    def __init__(self, path: Path, size: tuple[int, int], fps: float) -> None:
        av = require("av", "render")
        check_video(".mp4", size, fps)
        encoder = next((name for name in ENCODERS if _known(av, name)), None)
        if encoder is None:
            raise FileError(f"{path}: this build of av has no encoder of H.264 (tried {', '.join(ENCODERS)})")
        self._av = av
        self._file = av.open(str(path), "w", format="mp4", options={"movflags": "+faststart"})
        options = {"crf": QUALITY, "preset": "medium"} if encoder == "libx264" else {"b": "8M"}
        self._stream: Any = self._file.add_stream(encoder, rate=Fraction(fps).limit_denominator(1001), options=options)
        self._stream.width, self._stream.height = size
        self._stream.pix_fmt = "yuv420p"
        context = self._stream.codec_context
        context.colorspace = context.color_primaries = context.color_trc = 1  # BT.709
        context.color_range = 1  # 16..235

    def write(self, picture: np.ndarray) -> None:
        """Take a picture, shape (height, width, 3) uint8."""
        frame = self._av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")
        frame = frame.reformat(format="yuv420p", dst_colorspace="ITU709", dst_color_range="MPEG")
        self._file.mux(self._stream.encode(frame))

    def close(self) -> None:
        """Finish the file."""
        self._file.mux(self._stream.encode())
        self._file.close()


class GifWriter:
    """A GIF that runs for ever.

    Args:
        path: File to write.
        size: Width and height [pixels].
        fps: Pictures in a second.
        samples: Pictures that hold the colours of all.

    Raises:
        MissingExtraError: av is not installed.
        SceneError: See `check_video`.
    """

    def __init__(self, path: Path, size: tuple[int, int], fps: float, samples: Sequence[np.ndarray]) -> None:
        av = require("av", "render")
        check_video(".gif", size, fps)
        self._av, self._fps, self._count = av, fps, 0
        self._palette = _palette(samples)
        self._entries = np.full((256, 4), 255, np.uint8)
        colors = np.array(self._palette.getpalette(), np.uint8).reshape(-1, 3)
        self._entries[: len(colors), 1:] = colors  # alpha, red, green, blue
        # the last picture stays as long as the others; browsers take the 1/100 s that it gets otherwise for 1/10 s
        options = {"loop": "0", "final_delay": str(min(round(GIF_TICKS / fps), 65535))}
        self._file = av.open(str(path), "w", format="gif", options=options)
        self._stream: Any = self._file.add_stream("gif", rate=GIF_TICKS)
        self._stream.width, self._stream.height = size
        self._stream.pix_fmt = "pal8"

    def write(self, picture: np.ndarray) -> None:
        """Take a picture, shape (height, width, 3) uint8."""
        image = require("PIL.Image", "render")
        reduced = image.fromarray(picture).quantize(palette=self._palette, dither=image.Dither.NONE)
        frame = self._av.VideoFrame.from_ndarray((np.array(reduced), self._entries), format="pal8")
        frame.time_base = Fraction(1, GIF_TICKS)
        frame.pts = round(self._count * GIF_TICKS / self._fps)
        self._file.mux(self._stream.encode(frame))
        self._count += 1

    def close(self) -> None:
        """Finish the file."""
        self._file.mux(self._stream.encode())
        self._file.close()


def write_video(
    path: Path, size: tuple[int, int], fps: float, count: int, picture: Callable[[int], np.ndarray]
) -> None:
    """Write a video; the extension of the path chooses the format.

    Args:
        path: File to write, `.mp4` or `.gif`.
        size: Width and height [pixels].
        fps: Pictures in a second.
        count: Number of pictures.
        picture: Gives a picture by its number.
    """
    if path.suffix.lower() == ".gif":
        chosen = sorted({round(k) for k in np.linspace(0, count - 1, min(count, PALETTE_PICTURES))})
        writer: VideoWriter = GifWriter(path, size, fps, [picture(k) for k in chosen])
    else:
        writer = Mp4Writer(path, size, fps)
    for index in range(count):
        writer.write(picture(index))
    writer.close()


def _known(av: Any, name: str) -> bool:
    try:
        av.codec.Codec(name, "w")
    except ValueError:  # av.codec.codec.UnknownCodecError
        return False
    return True


def _palette(samples: Sequence[np.ndarray]) -> Any:
    """An image with the palette that suits all samples."""
    image = require("PIL.Image", "render")
    return image.fromarray(np.concatenate(samples)).quantize(255, method=image.Quantize.MEDIANCUT)
