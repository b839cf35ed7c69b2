#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the corpus of the fuzz targets, a folder each, into FOLDER:

    tests/fuzz/make_corpus.py FOLDER

Small whole inputs of every variant, some that are damaged by hand, and the inputs of kept/, most of which once made a reader
fail.
The same bytes every time."""
import gzip
import pathlib
import shutil
import struct
import sys
import zlib

here = pathlib.Path(__file__).resolve().parent
corpus = pathlib.Path(sys.argv[1] if len(sys.argv) == 2 else "corpus")


def save(target, name, data):
    if isinstance(data, str):
        data = data.encode()
    (corpus / target).mkdir(parents=True, exist_ok=True)
    (corpus / target / name).write_bytes(data)


def save_all(target, inputs):
    for name, data in inputs.items():
        save(target, name, data)


def save_damaged(target, inputs):
    """Each text whole, without each of its lines, and with each of its words as another one."""
    save_all(target, inputs)
    for name, text in inputs.items():
        lines = text.split("\n")
        for i, words in enumerate(line.split(" ") for line in lines):
            save(target, f"{name}-{i}", "\n".join(lines[:i] + lines[i + 1:]))
            for k in range(len(words)):
                for other in ("-1", "x"):
                    line = " ".join(words[:k] + [other] + words[k + 1:])
                    save(target, f"{name}-{i}-{k}{other}", "\n".join(lines[:i] + [line] + lines[i + 1:]))


def gadget(version=1, order="<", real="f", ids="I", counts=(1, 2, 0, 1, 0, 0), mass=(0, 2.5, 0, 0, 0, 0), totals=None,
           nfiles=1, time=0.5, redshift=0.0, energy=False):
    totals = counts if totals is None else totals
    n, massive = sum(counts), sum(c for c, m in zip(counts, mass) if m == 0)
    head = struct.pack(order + "6I6d2d2i6IiI4d", *counts, *mass, time, redshift, 0, 0, *totals, 0, nfiles, 50, 0.3, 0.7,
                       0.7).ljust(256, b"\0")
    blocks = [("HEAD", head), ("POS ", numbers(order, real, 3 * n)), ("VEL ", numbers(order, real, 3 * n))]
    if ids:
        blocks.append(("ID  ", struct.pack(f"{order}{n}{ids}", *range(7, 7 + n))))
    if massive:
        blocks.append(("MASS", numbers(order, real, massive)))
    if energy:
        blocks.append(("U   ", numbers(order, real, n)))
    out = b""
    for label, block in blocks:
        if version == 2:
            out += record(order, label.encode() + struct.pack(order + "I", len(block) + 8))
        out += record(order, block)
    return out


def numbers(order, real, n):
    return struct.pack(f"{order}{n}{real}", *(0.25 * i for i in range(n)))


def record(order, block):
    return struct.pack(order + "I", len(block)) + block + struct.pack(order + "I", len(block))


def make_gadget():
    for version in 1, 2:
        for order, word in (("<", "little"), (">", "big")):
            for real, ids in (("f", "I"), ("d", "Q")):
                whole = gadget(version, order, real, ids, energy=version == 2)
                save("gadget", f"format{version}-{word}-{real}{ids}", b"\0" + whole)
    one = gadget()
    save_all("gadget", {
        "no-ids": b"\0" + gadget(2, ids=None), "cosmological": b"\0" + gadget(time=0.25, redshift=3.0),
        "totals-left-out": b"\0" + gadget(totals=(0,) * 6),
        "all-in-the-header": b"\0" + gadget(mass=(1, 2, 3, 4, 5, 6)), "truncated-in-a-block": b"\0" + one[:300],
        "truncated-between-blocks": b"\0" + one[:264], "junk-behind": b"\0" + one + b"\1\2\3",
        "count-2-31": b"\0" + one[:8] + struct.pack("<I", 1 << 31) + one[12:],
        "all-counts-2-32": b"\0" + one[:4] + b"\xff" * 24 + one[28:],
        "block-length-lies": b"\0" + one[:264] + struct.pack("<I", 1 << 31) + one[268:],
        "block-end-lies": b"\0" + one[:260] + struct.pack("<I", 255) + one[264:],
        "nan": b"\0" + one[:268] + struct.pack("<f", float("nan")) + one[272:],
        "nan-time": b"\0" + one[:76] + struct.pack("<d", float("nan")) + one[84:],
        "no-particles": b"\0" + gadget(counts=(0,) * 6),
        "two-pos": b"\0" + gadget(2) + record("<", b"POS \0\0\0\0") + record("<", bytes(48)),
        "set-alone": b"\0" + gadget(nfiles=2)})
    half = gadget(counts=(1, 1, 0, 0, 0, 0), totals=(2, 2, 0, 0, 0, 0), nfiles=2)
    save("gadget", "set", b"\x80" + half + half)
    save("gadget", "set-that-disagrees", b"\x80" + half + half[:100] + b"\7" + half[101:])
    for order, word in (("<", "little"), (">", "big")):
        for count in "Iq":
            own = struct.pack(f"{order}6{count}6q6d3di4x", 1, 2, 0, 1, 0, 0, 1, 2, 0, 1, 0, 0, 0, 2.5, *[0.0] * 4, 0.5, 0, 50, 1)
            save("gadget", f"gadget4-{word}-{count}", b"\0" + record(order, own) + gadget(1, order)[264:])
    save("gadget", "packed", b"\0" + gzip.compress(one, mtime=0))
    many = gadget(nfiles=0x7fffffff)
    save("gadget", "set-of-2-31", b"\x80" + many + many)


def tipsy(order=">", gas=1, dark=2, star=1, n=None, ndim=3, pad=0, doubles=0):
    out = struct.pack(order + "d6I", 0.5, gas + dark + star if n is None else n, ndim, gas, dark, star, pad)
    for count, width in ((gas, 12), (dark, 9), (star, 11)):
        out += numbers(order, "f", (count if count < 100 else 0) * (width + 3 * doubles))
    return out


def make_tipsy():
    for order, word in ((">", "big"), ("<", "little")):
        save_all("tipsy", {
            word: tipsy(order), word + "-dark-only": tipsy(order, 0, 5, 0),
            word + "-doubles": tipsy(order, doubles=1), word + "-all-doubles": tipsy(order, doubles=2),
            word + "-short-header": tipsy(order)[:28] + tipsy(order)[32:],
            word + "-junk-in-the-pad": tipsy(order, pad=0x12345678)})
    save_all("tipsy", {
        "one-dimension": tipsy(ndim=1), "truncated": tipsy()[:-1], "header-only": tipsy(gas=0, dark=0, star=0),
        "longer": tipsy() + b"\0", "count-2-31": tipsy(dark=1 << 31),
        "counts-of-40-bits": tipsy(dark=7, n=10, pad=0x01010101),
        "infinite": tipsy()[:36] + struct.pack(">f", float("inf")) + tipsy()[40:],
        "negative-mass": tipsy()[:32] + struct.pack(">f", -1) + tipsy()[36:]})


def make_text():
    save_all("text", {
        "plain": "# m x y z vx vy vz\n0.5 1 0 0 0 0.5 0 more\n\n0.5 -1 0 0 0 -0.5 0 # a comment\n",
        "with-ids": "0\n2\n0.25\n7 1 0 0 0 0 0 0\n9 1 1D0 2.5d-1 .5 -1. +2 3e0\n", "no-newline": "1 0 0 0 0 0 0",
        "windows": "1 0 0 0 0 0 0\r\n1 1 2 3 4 5 6\r\n", "nan": "1 0 0 nan 0 0 0\n",
        "infinite": "1 0 0 1e999 0 0 0\n", "negative-mass": "-1 0 0 0 0 0 0\n",
        "short-line": "1 0 0 0 0 0 0\n1 2 3\n", "count-2-63": "0\n9223372036854775807\n0\n1 1 0 0 0 0 0 0\n",
        "count-beyond-2-63": "0\n9223372036854775808\n0\n1 1 0 0 0 0 0 0\n", "count-of-0": "0\n0\n0\n",
        "header-only": "0\n2\n", "only-a-comment": "# nothing\n", "zero-byte": b"1 0 0 0 0 0 0\n1 0 0\0 0 0 0 0\n",
        "hexadecimal": "0x1p-1 0 0 0x10 0 0 0\n", "words": "not a snapshot\n",
        "large": "1 1e18 -1e18 1e300 4e-320 0 0\n", "places": "0 0 0\n1 2 3\n",
        "names": 'id,"Position_X [kpc]",y,z;,mass\n1,0,0,0,1\n2,1,2,"3",4\n',
        "names-in-a-comment": "# x y z m\n0 0 0 1\n1 2 3 4\n", "tabs": "x\ty\tz\tvx\tvy\tvz\n0\t0\t0\t1\t1\t1\n",
        "xyz-count": "99999999\n\nH 0 0 0\n", "packed": gzip.compress(b"x y z\n0 0 0\n1 2 3\n", mtime=0)})
    save_damaged("text", {
        "xyz": "2\na comment\nH 0 0 0\nO 1 2 3\n2\nnext\nH 0 0 0\nO 1 2 3\n",
        "xyz-extended": '1\nLattice="1 0 0" Properties=species:S:1:pos:R:3:mass:R:1:id:I:1\nH 0 0 0 1 7\n'})
    head = "ITEM: TIMESTEP\n0\nITEM: NUMBER OF ATOMS\n2\nITEM: BOX BOUNDS"
    save_damaged("text", {
        "dump": head + " pp pp pp\n0 1\n0 1\n0 1\nITEM: ATOMS id type x y z mass\n1 1 0 0 0 1\n2 1 1 2 3 1\n",
        "dump-tilted": head + " xy xz yz pp pp pp\n0 1 0.5\n0 1 0\n0 1 0\nITEM: ATOMS xs ys zs\n0 0 0\n1 1 1\n",
        "dump-general": head + " abc origin\n1 0 0 0\n0 1 0 0\n0 0 1e308 0\nITEM: ATOMS xs ys zs\n0 0 0\n1 1 9\n"})
    data = "title\n\n2 atoms\n1 atom types\n0 1 xlo xhi\n\nMasses\n\n1 12.0 # C\n\n"
    save_damaged("text", {
        "data": data + "Atoms # full\n\n1 1 1 0 0 0 0\n2 1 1 0 1 2 3\n\nVelocities\n\n1 0 0 0\n2 0 0 0\n",
        "data-without-style": data + "Atoms\n\n1 1 0 0 0\n2 1 1 2 3\n"})


def make_options():
    lines = {
        "all": "galaxy.hdf5 --steps=5 --dt 0.01 --seed 7 --theta 0.6 --opening relative --alpha 0.002 --softening 0.1 "
               "--G=43007.1 --leaf-size 8 --group-size 32 --balance interaction --rebalance auto --imbalance-tol 0.05 "
               "--sample-strategy adaptive --sample-rate 0.5 --sample-threshold 3 --report r --forces f --output o "
               "--output-every 2 --quiet --progress",
        "generate": "--generate plummer:n=1000,seed=3 --rebalance 5",
        "generate-disks": "--generate disks:n=10 --rebalance never --balance sfc",
        "generate-a-key-twice": "--generate plummer:n=1,n=2", "generate-not-a-number": "--generate plummer:n=nan",
        "generate-too-many": "--generate plummer:n=9223372036854775807",
        "restart": "--restart barneshut-restart.hdf5 --steps 100", "two-inputs": "a --restart b", "help": "--help",
        "version": "--version", "cutoff": "--generate plummer --cutoff 0.5 --theta 0.6", "end-of-options": "-- --steps",
        "no-value": "--steps --dt", "empty-value": "--report=", "too-large": "--steps 9223372036854775808",
        "not-finite": "--dt inf", "lists": "1,2,3 a,b,c ,, 1001", "unknown": "--nonsense=1",
        "keyed": "n=7 kind:n=7,x=0.5,seed=2 kind:n=1001 x=0 seed=4 kind:y=1 n=1,n=2 kind: =1 n= n",
        "flag-with-value": "--quiet=yes", "same-twice": "a --steps 1 --steps 2"}
    save_all("options", {name: text.replace(" ", "\n") for name, text in lines.items()})
    save_all("options", {"empty-argument": "\n\n", "not-utf8": b"--report\n\xff\xfe\x01\n"})


def make_samples():
    def frame(ends, n, low=-1.0, high=2.0, rank=1):
        rows = b"".join(struct.pack(f"={1 + 3 * ends}H", rank, *[(7919 * (i + 1) * (k + 1)) % 65536 for k in range(3 * ends)])
                        for i in range(n))
        return struct.pack("=qq6d", 4, n, low, low, low, high, high, high) + rows

    points, lines = b"EQPSAMP1" + struct.pack("=ii", 1, 3), b"EQPSAMP1" + struct.pack("=ii", 2, 3)
    save_all("samples", {
        "points": points + frame(1, 5) + frame(1, 0) + frame(1, 1), "lines": lines + frame(2, 4), "no-frames": points,
        "cut": points + frame(1, 5)[:-3], "cut-head": points[:10],
        "other-ranks": points[:12] + struct.pack("=i", 4) + frame(1, 2),
        "three-ends": points[:8] + struct.pack("=ii", 3, 3) + frame(1, 2),
        "other-order": points[:8] + b"\x00\x00\x00\x01" + points[12:], "rank-too-large": points + frame(1, 2, rank=3),
        "nan": points + frame(1, 2, low=float("nan")),
        "count-lies": points + struct.pack("=qq6d", 0, 1 << 40, *[0.0] * 6)})


def make_page():
    """report.json, traffic.csv, hindsight.csv; a zero byte ends each."""
    step = '{"step": %d, "method": "sfc", "rebalanced": %s, "imbalance_measured": 0.5, "balance_seconds": 0.25, "why": "w"}'
    report = '{"schema": 1, "balance": "sfc", "ranks": 3, "steps": [%s, %s]}' % (step % (0, "true"), step % (1, "false"))
    traffic = "from,to,bytes\n0,1,5\n2,0,9000000000000000000\n2,0,9000000000000000000\n"
    hindsight = "step,steps,seconds,best_seconds,map,best_map\n0,1,0.5,0.25,1,1\n1,1,1e-5,1e-5,0,0\n"
    save_all("page", {
        "run": "\0".join((report, traffic, hindsight)), "no-files": report, "cut": "\0".join((report[:90], traffic)),
        "half-lines": "\0".join((report, traffic, hindsight[:60])),
        "strange-members": '{"schema": 1, "steps": [{"step": "x", "rebalanced": 7}, 3, [], {"step": 1e300}], "balance": 5}'})


def make_loads():
    head = "step,rank,method,load,predicted,particles\n"
    rows = "0,0,sfc,1.5,1.4,10\n0,1,sfc,0.5,0.6,12\n1,0,sfc,1,1,11\n1,1,sfc,1,,11\n"
    save_all("loads", {
        "whole": head + rows, "windows": (head + rows).replace("\n", "\r\n"),
        "quoted": '"step","rank","load","predicted"\n"0","0","1","1"\n',
        "open-quote": 'step,rank,load,predicted\n0,0,"1,1\n', "no-rows": head, "a-rank-too-few": head + rows[:-17],
        "a-rank-too-many": head + rows + "1,2,sfc,1,1,1\n", "steps-go-back": head + rows + "0,0,sfc,1,1,1\n",
        "negative": head + "0,0,sfc,-1,1,1\n", "negative-rank": head + "0,-1,sfc,1,1,1\n",
        "all-zero": head + "0,0,sfc,0,0,0\n",
        "sum-overflows": head + "0,0,a,1e308,1e308,1\n0,1,a,1e308,1e308,1\n1,0,a,1e308,,1\n1,1,a,1e308,,1\n",
        "counts-overflow": head + "0,0,a,1,1,9223372036854775807\n0,1,a,1,1,1\n",
        "predicted-below-0": head + "0,0,a,1,-5,1\n0,1,a,1,3,1\n",
        "first-step-at-the-end": head + "9223372036854775807,0,a,1,1,1\n",
        "zero-byte": b"step,rank,load,predicted\n0,0\0,1,1\n", "other-file": "a,b\n1,2\n",
        "short-row": head + "0,0\n"})


def make_let():
    # kind, particles - 1, leaf size - 1, pieces - 1, way (14: backwards; 15: the home follows); then changes: place,
    # place, what, more
    for kind in range(5):
        save("let", f"whole-{kind}", bytes([kind, 150, 3, 1, 0]))
        save("let", f"small-{kind}", bytes([kind, 3, 0, 0, 0]))
    base = bytes([1, 120, 3, 1, 0])
    for place in [*range(32), *range(32, 1600, 23)]:  # with moments and, every other one, without
        way = bytes([1, 120, 3, 1, place % 2])
        save("let", f"strange-{place}", way + struct.pack("<HHBB", place, 0, 0, place % 10))
        save("let", f"flipped-{place}", way + struct.pack("<HHBB", place, 0, 1, 5 * place % 64))
    save_all("let", {
        "truncated": base + struct.pack("<HHBB", 40, 0, 5, 0),
        "truncated-in-a-head": base + struct.pack("<HHBB", 1, 0, 5, 3),
        "empty-but-for-a-byte": base + struct.pack("<HHBB", 0, 0, 5, 1), "children-first": bytes([1, 120, 3, 1, 14]),
        "repeated": base + struct.pack("<HHBB", 60, 20, 4, 9), "from-another-rank": bytes([1, 120, 3, 1, 15, 129]),
        "from-no-rank": bytes([1, 120, 3, 1, 15, 0]),
        "mass-and-count": base + struct.pack("<HHBBHHBB", 9, 0, 2, 1, 10, 0, 2, 255)})


def hdf5(flags=0, counts=(3, 2), strange=(), further=b""):
    """strange: (place of the object in the file, control byte, bytes that follow it)"""
    out = bytearray([flags, len(counts) - 1, *counts])
    at = 0
    for place, control, more in sorted(strange):
        out += bytes(place - at) + bytes([control]) + more
        at = place + 1
    return bytes(out) + further


def make_hdf5():
    # Objects without the restart groups: 0 Header, 1 to 11 its attributes, 12 PartType0, 13 to 18 its datasets (one
    # more byte behind Velocities), ... With them: 12 Equipoise, 13 step, 14 dt, 15 Parameters, ..., 18 PartType0.
    def strange(place, control, *more, flags=0):
        return hdf5(flags, (3, 2), [(place, control, bytes(more))])

    def again(place, control, *more):
        return strange(place, control, *more, flags=4)

    nan, infinite = struct.pack("<d", float("nan")), struct.pack("<d", float("inf"))
    save_all("hdf5", {
        "usual": hdf5(), "latest-format": hdf5(1), "user-block": hdf5(2), "one-type": hdf5(0, (5,)),
        "sixteen-types": hdf5(0, (1, 0, 2) * 5 + (1,)), "with-restart": hdf5(4), "all": hdf5(7, (1, 1, 1, 1)),
        "nan": strange(13, 0x90, 0, 4, 0, 18, *nan, 1), "nan-time": strange(6, 0x90, 0, 0, 0, 18, *nan),
        "raw-chunk": strange(13, 0x98, 3, 5, 2, 2, 0, 0, 0, 0, 0),
        **{f"missing-{place}": strange(place, 0x81) for place in range(20)},
        **{f"kind-{kind}": strange(13, 0xa0, kind) for kind in range(7)},
        **{f"type-{number}": strange(13, 0x82, number, 9) for number in range(27)},
        **{f"ids-type-{number}": strange(15, 0x82, number, 9) for number in range(27)},
        **{f"attribute-type-{number}": strange(1 + number % 11, 0x82, number, 9) for number in range(27)},
        **{f"count-shape-{ndims}": strange(1, 0x84, ndims, 10, 10, 1, 1) for ndims in range(6)},
        **{f"mass-shape-{ndims}": strange(4, 0x84, ndims, 5, 3, 1, 1) for ndims in range(6)},
        **{f"shape-{ndims}": strange(13, 0x84, ndims, 10, 10, 1, 1) for ndims in range(6)},
        **{f"time-shape-{ndims}": strange(6, 0x84, ndims, 3, 3, 1, 1) for ndims in range(6)},
        **{f"layout-{layout}": strange(13, 0x88, layout, 1, 2, 0) for layout in range(4)},
        **{f"filters-{filters}": strange(13, 0x88, 3, 1, 2, filters) for filters in (1, 2, 3, 4, 8, 16, 32, 63)},
        **{f"claim-{number}": strange(13, 0x8c, 2, number, 10, 3, 7, 2, 2) for number in (8, 9)},
        **{f"count-{value}": strange(1, 0x90, 0, 0, 0, value) for value in range(16)},
        **{f"mass-{value}": strange(17, 0x90, 0, 1, 0, value, 1) for value in range(6)},
        **{f"group-kind-{kind}": strange(12, 0xa0, kind) for kind in range(0, 7, 2)},
        **{f"counts-type-{number}": strange(1, 0x82, number, 9) for number in range(0, 27, 3)}})
    restarts = {
        "usual": hdf5(4), "no-group": again(12, 0x81), "no-step": again(13, 0x81), "step-is-real": again(13, 0x82, 10),
        "step-is-text": again(13, 0x82, 16, 4), "step-below-0": again(13, 0x92, 5, 0, 0, 0, 7),
        "step-2-63": again(13, 0x92, 5, 0, 0, 0, 14), "step-is-a-list": again(13, 0x84, 1, 3),
        "dt-0": again(14, 0x90, 0, 0, 0, 0), "dt-infinite": again(14, 0x90, 0, 0, 0, 18, *infinite),
        "dt-nan": again(14, 0x90, 0, 0, 0, 18, *nan), "no-acceleration": again(24, 0x81),
        "only-one-type-has-potential": again(25, 0x81), "missing-type": again(18, 0x81), "type-kind-2": again(18, 0xa0, 2)}
    save_all("restart", {"past-the-end": b"\0" + hdf5(4), **{name: b"\x05" + data for name, data in restarts.items()}})


def network(version=5, nfiles=1, count=None, decomposition=2, nodes=None, domains=None, low="-10 -10 -10", high="10 10 10"):
    nodes = chain() if nodes is None else nodes
    if domains is None:
        domains = "0 -10 -10 -10 10 10 10" if decomposition == 2 else "-10\n -10\n  -10\n  10\n 10\n10"
    return (f"dataFileVersion = {version}\nnumFileSegments = {nfiles}\nminCoordinates = [\n{low}\n]\n"
            f"maxCoordinates = [ {high} ]\nnodeCount = {len(nodes) if count is None else count}\n"
            f"dataDecompType = {decomposition}\ndataDecompGeometry = [ 1 1 1 ]\n# end\ndomainDecomposition =\n"
            f"{domains}\nnodalData =\n" + "".join(nodes))


def node(tag, x, arms, constraint=0):
    return f" {tag} {x} {len(arms)} {constraint}\n" + "".join(f"  {a} {b}\n    {n}\n" for a, b, n in arms)


def chain(end=7):
    plus, minus, normal = "0.57735027 0 -.5", "-0.57735027 0 5e-1", "0. 1. 1."
    return [node("0,0", "-4 .5 6", [("0,1", plus, normal)], end),
            node("0,1", "17.0 0.5 6", [("0,0", minus, normal), ("3,2", plus, "0 0 0")]),
            node("3,2", "4 0.5 6", [("0,1", minus, "0 0 0")], end)]


def make_paradis():
    nodes = chain()
    loop = [node(f"0,{i}", f"{i} {i * i} 0", [(f"0,{(i + 1) % 3}", "1 0 0", "0 0 3"), (f"0,{(i + 2) % 3}", "-1 0 0", "0 0 3")])
            for i in range(3)]
    save_all("paradis", {
        "chain-5": network(), "chain-4": network(4), "surface-4": network(4, nodes=chain(1)),
        "slabs": network(decomposition=1), "loop": network(nodes=loop),
        "comments": network().replace("\n", " # that\n").replace("= 5", "= 5 ;")})
    packed = zlib.compressobj(9, zlib.DEFLATED, 31)
    save_all("paradis", {
        "packed": packed.compress(network().encode()) + packed.flush(),
        "packed-truncated": (lambda c: c.compress(network().encode()) + c.flush())( zlib.compressobj(9, zlib.DEFLATED,
            31))[:-20],
        "three-files": network(nfiles=3, count=3, nodes=nodes[:1]) + "\1nodalData =\n" + nodes[1] + "\1" + nodes[2],
        "file-missing": network(nfiles=3, count=3, nodes=nodes[:1]) + "\1" + nodes[1],
        "empty-network": network(nodes=[]), "count-too-small": network(count=2), "count-too-large": network(count=4),
        "count-lies": network(count=10**14), "version-3": network(3), "no-box": network(high="-10 10 10"),
        "box-overflows": network(low="-1e308 -1 -1", high="1e308 1 1"), "nan": network().replace("17.0", "nan"),
        "too-large": network().replace("17.0", "1e400"),
        "arms-absurd": network().replace(" 2 0\n", " 2000000000 0\n"),
        "arms-below-0": network().replace(" 2 0\n", " -2 0\n"), "itself": network().replace("3,2", "0,1"),
        "twice": network().replace("  0,0 ", "  3,2 "), "burgers-0": network().replace("0.57735027 0 -.5", "0 0 0"),
        "burgers-sum": network().replace("-0.57735027 0 5e-1", "1 2 3"), "ends-free": network(nodes=chain(0)),
        "tag-2-32": network().replace("3,2", "4294967296,2"), "junk": network().replace("0. 1. 1.", "0. 1. 1. 1."),
        "normal-overflows": network().replace("0. 1. 1.", "1e300 1e-300 -1e300"),
        "domains-short": network(domains="0 1 2"),
        "domains-many": network().replace("[ 1 1 1 ]", "[ 1000000 1000000 1000000 ]"),
        "truncated-in-a-node": network()[:-30], "truncated-in-a-number": network()[:-2],
        "zero-byte": network().replace("17.0", "17\0")})


def make_ctrl():
    usual = ("# a run\ndirname = \"here # there\"\nnumXcells = 4\nmaxSeg = 4.0e2\nnextDT = 1.0e-12;\nrc = 5.0 # b\n"
             "loadType = 1\nedotdir = [\n 0.0\n 0.0\n 1.0\n ]\nappliedStress = [ 0 0 5e8, 0 0 0 ]\nmobilityLaw = \"FCC_0\"\n")
    save_all("ctrl", {
        "usual": usual,
        "all": usual + "numYdoms=2\nxBoundType=1\ndecompType=1\nDLBfreq=0\nmaxstep=9999999999\ntimestepIntegrator=x\n"
            "maxDT=1\ndtIncrementFact=2\ndtDecrementFact=.1\nrTol=-1\nminSeg=20\nremeshRule=3\nrann=2\nsplitMultiNodeFreq=5\n"
            "collisionMethod=1\nshearModulus=5e10\npois=.3\nburgMag=2e-10\nEcore=-1\nMobScrew=1\nMobEdge=2\nMobClimb=0\n"
            "eRate=-1e3\ncycleStart=7\ntimeNow=1e-9\ntotpStn=[1 2 3 4 5 6]\n",
        "list-open": usual + "edotdir = [ 1 0 0\n", "list-short": usual + "edotdir = [ 1 0 ]\n",
        "list-long": usual + "sessile = [" + " 1" * 30 + " ]\n", "no-direction": usual + "edotdir = [ 0 0 0 ]\n",
        "string-open": usual + "mobilityLaw = \"FCC\n", "string-long": usual + "mobilityLaw = " + "F" * 100 + "\n",
        "no-key": "= 3\n", "two-values": "maxSeg = 3 4\n", "out-of-range": "pois = 0.7\n", "nan": "rc = nan\n",
        "no-value": "rc =\n", "many-others": "".join(f"key{i} = {i}\n" for i in range(100)), "empty": ""})


def make_speeds():
    cliff = "# rows\n0 2400 900\n0 2640 30\n1 2300 750\n1 2530 25\n2 5200 850 # more memory\n2 5720 28\n3 9000 840\n"
    save_all("speeds", {
        "cliff": cliff, "one": "0 0 1\n", "crlf": cliff.replace("\n", "\r\n"),
        "wall": "0 1000 100\n0 1001 1e-25\n1 0 1e15\n",
        "saw": "".join(f"{r} {s} {1 + (s * (r + 3)) % 7}\n" for r in range(4) for s in range(0, 9000, 500)),
        "extremes": "0 0 1e30\n0 9007199254740992 1e-30\n1 0 1e-30\n1 9007199254740992 1e30\n",
        "gap": "0 1 1\n2 1 1\n", "short": "0 1\n", "nan": "0 1 nan\n", "backwards": "0 2 1\n0 1 1\n",
        "still": "0 1 0\n", "zero-byte": "0 1 1\0\n", "truncated": cliff[:-3], "empty": ""})


def make_dd_options():
    def lines(*words):
        return "".join(word + "\n" for word in words)

    for number, recipe in enumerate((
            "frank-read", "frank-read:n=3,box=2000,length=900,angle=30,maxseg=200,seed=5", "loops:n=2,sides=5,radius=300",
            "loops:radius=1e9", "lines:along112=1,n=7", "lines:box=100,maxseg=1", "chains:n=40,corners=3,spread=2",
            "chains:spread=nan", "chains:n=1,n=2", "loops:sides=3.5", "frank-read:n=1e9,box=1e9,maxseg=1", "knots", ":", "chains:",
            "lines:seed=18446744073709551615", "help")):
        save("dd_options", f"generate-{number:02}", lines("--generate", recipe, "--steps=3"))
    save_all("dd_options", {
        "all": lines( "copper.data", "--ctrl=c.ctrl", "--tile", "2,1,3", "--cells=4,5,6", "--integrator", "euler",
            "--mobility=BCC_0", "--max-seg", "400", "--min-seg=20", "--r-tol=1", "--rann=2", "--rc=5", "--mu=54.6e9",
            "--nu=-0.5", "--burg=2.5e-10", "--stress", "0,0,5e8,0,-1,0", "--strain-rate=-1e3", "--isa=plain",
            "--balance=bisection", "--quiet"),
        "check-forces": lines("--check-forces", "table.tsv"),
        "restart-with-ctrl": lines("--restart", "a.data", "--ctrl", "b.ctrl"),
        "restart-with-tile": lines("--restart", "a.data", "--tile", "2")})
    for name, option in (("tile-0", "--tile=0,1,1"), ("tile-large", "--tile=2147483647,2,2"), ("tile-two", "--tile=1,2"),
                         ("cells-one", "--cells=9"), ("cells-two", "--cells=3,4"), ("cells-many", "--cells=1001"),
                         ("stress-five", "--stress=1,2,3,4,5"), ("stress-seven", "--stress=1,2,3,4,5,6,7"),
                         ("stress-nan", "--stress=1,2,3,4,5,nan"), ("stress-open", "--stress=1,2,3,4,5,"),
                         ("nu", "--nu=0.5"), ("segments", "--min-seg=500"), ("largest", "--max-seg=1e308"),
                         ("smallest", "--max-seg=1e-320"), ("word", "--mobility=HCP"), ("schedule", "--schedule=factoring")):
        save("dd_options", name, lines("--generate=lines:n=1", option))
    save("dd_options", "what-if", lines("a.data", "--compare=all", "--parts=4,16", "--network=alpha=1e-6,gather=2e-6,node=4"))


def make_forces():
    medium = "a\tmu\tnu"
    pair = "\t".join([f"p{i}{c}" for i in (1, 2, 3, 4) for c in "xyz"] + [f"b{i}{c}" for i in ("12", "34") for c in "xyz"])
    pair += f"\t{medium}\t" + "\t".join(f"fq{i}{c}" for i in (1, 2, 3, 4) for c in "xyz")
    one = "\t".join([f"p{i}{c}" for i in (1, 2) for c in "xyz"] + ["bx", "by", "bz"])
    one += f"\t{medium}\t" + "\t".join(f"fq{i}{c}" for i in (1, 2) for c in "xyz")
    apart = "0 0 0 9 0 0 0 5 0 9 6 3 0 1 0 0.5 0.5 0 1 2 0.3" + " 0.1 -0.2 0.3" * 4
    alone = "0 0 0 9 1 0 0 1 0 1 2 0.3" + " 1e-3 2e-3 -3e-3" * 2

    def table(names, *rows):
        return "# forces\n" + names + "\n" + "".join("\t".join(row.split(" ")) + "\n" for row in rows)

    save_all("forces", {
        "pairs": table(pair, apart, apart.replace("9 0 0", "0 0 7")), "selves": table(one, alone),
        "categories": table("category\t" + one, "near " + alone, "far " + alone, "near " + alone, "x" * 60 + " " +
            alone),
        "other-columns": table("box\t" + one + "\tnote", "7 " + alone + " n"),
        "parallel": table(pair, apart.replace("9 6 3", "9 5 0")),
        "the-same-segment": table(pair, apart.replace("0 5 0 9 6 3", "0 0 0 9 0 0")),
        "no-length": table(one, alone.replace("9 1 0", "0 0 0", 1)),
        "no-core": table(one, alone.replace(" 1 2 0.3", " 0 2 0.3")),
        "no-modulus": table(one, alone.replace(" 1 2 0.3", " 1 -2 0.3")),
        "ratio": table(one, alone.replace(" 1 2 0.3", " 1 2 0.5")),
        "no-forces": table(one, alone.replace("1e-3 2e-3 -3e-3", "0 0 0")),
        "extremes": table(one, alone.replace("9 1 0", "1e300 1 0"), alone.replace(" 1 2 0.3", " 1e-300 1e300 0.3")),
        "nan": table(one, alone.replace("2e-3", "nan")), "no-number": table(one, alone.replace("2e-3", "2e-3x")),
        "short": table(one, alone[:-6]), "no-column": table(one.replace("fq2z", "fq9z"), alone),
        "column-twice": table(one + "\tnu", alone + " x"), "zero-byte": table(one, alone).replace("1e-3", "1\0"),
        "no-rows": table(one), "crlf": table(one, alone).replace("\n", "\r\n"),
        "control-category": table("category\t" + one, "\33[2J " + alone), "empty": ""})


def make_words():
    save_all("words", {
        "methods": "sfc\nnone\nsectioning\nbisection\nauto\nfeedback\nfunctional\nno-such",
        "options": "interaction:pins=2\ninteraction:full\ninteraction:start=rcb,rate=0.5,threshold=2,strategy=stride\n"
            "tiles:aspect=1.5\njagged:aspect=2,columns=3\nsfc:split,even=step\nrcb:split,even=load\nhypergraph:rate=1\ndiffusion:gamma=0.2,steps=1,start=count",
        "refused": "interaction:pins=2,full\ninteraction:pins=1\ninteraction:pins=2,pins=3\nsfc:split=1\nsfc:even\n"
            "sfc:even=\nsfc:\nsfc:,\n:\n,\ninteraction:start=interaction\ntiles:aspect=0\ntiles:aspect=nan\nsfc:pins=2\n"
            "interaction:rate=1e-400\ninteraction:threshold=1.2\njagged:columns=65537\ndiffusion:gamma=1.5",
        "lists": "sfc,rcb\nall\nall,sfc\ninteraction:pins=2,start=rcb,sfc,tiles:aspect=2\nsfc,sfc\nsfc,\n,sfc\n"
            "sfc,pins=2\ninteraction:pins=2,split,rcb",
        "long": "interaction:" + "rate=0.5," * 8 + "\n" + "x" * 63 + "\n" + "x" * 64 + "\n" + "sfc," * 70,
        "plans": "direct\ntwo-stage\nlog\ndirect+broadcast/4\nlog+node/8\ntwo-stage+broadcast/16+node/2",
        "plans-refused": "direct+broadcast/0\nlog+node/1\nlog+node/0\nlog+node/-2\nlog+node/2147483648\nlog+node/4+broadcast/4\n"
            "direct+\ndirect+broadcast/\ndirect+broadcast/4x\ndirect+broadcast/ 4\ndirect+broadcast/04\nlog+node/99999999999999999999",
        "empty": ""})


def make_balancer():
    """Byte: which run of the balancer; then changes of its bytes: where (4 bytes), what (byte), of how many bytes (byte)."""

    def changes(run, *list):
        return bytes([run]) + b"".join(struct.pack("<IBB", *change) for change in list)

    for run in range(12):
        save("balancer", f"run-{run}", changes(run))
    for name, at in (("magic", 0), ("word", 8), ("ranks", 24), ("counts", 32), ("seconds", 120), ("costs", 300), ("policy", 2000)):
        for what, value in (("ones", 255), ("zeros", 0), ("large", 127)):
            save("balancer", f"{name}-{what}", changes(3, (at, value, 8)))
    # Minus one, not a number, and large numbers in each word of what all ranks share.
    for at in range(24, 2400, 8):
        for value in (127, 255):
            save("balancer", f"word-{at}-{value}", changes(3, (at, value, 8)))
    save("balancer", "end", changes(5, (2**32 - 1, 255, 8), (2**32 - 9, 1, 1)))
    save("balancer", "empty", b"")


def make_evaluation():
    phases = ((0, 1), (1, 0), (0, 0))

    def packed(parts, blocks, loads=None, common=None):
        """blocks: for each phase (number, bytes, elements, home, users)"""
        n = len(blocks)
        loads = loads or [1.5 * p for p in range(parts)]
        common = common or [10 * p for p in range(parts)]
        flags = [sum(phase[i] << k for k, phase in enumerate(phases[:n])) for i in (0, 1)]
        out = bytes([parts - 1 + 16 * n]) + b"EQEVAL04" + struct.pack("<4q", parts, n, *flags)
        out += struct.pack(f"<{parts}d{parts}q{parts}q", *loads, *common, *range(parts))
        for rows in blocks:
            users = [u for row in rows for u in row[4]]
            out += struct.pack(f"<{parts}d2q", *(0.5 * p for p in range(parts)), len(rows), len(users))
            for column in range(3):
                out += struct.pack(f"<{len(rows)}q", *(row[column] for row in rows))
            out += struct.pack(f"<{len(rows)}i", *(row[3] for row in rows))
            out += struct.pack(f"<{len(rows)}i", *(len(row[4]) for row in rows))
            out += struct.pack(f"<{len(users)}H", *users)
        return out

    rows = [(-4, 100, 2, 0, (1, 2)), (7, 50, 1, 2, (0,)), (9, 0, 0, 1, ())]
    usual = packed(3, [rows, rows[:1]])
    save_all("evaluation", {
        "usual": usual, "nothing": packed(1, []),
        "hot": packed(16, [[(b, 8 * b, b, b, tuple(range(16))) for b in range(16)]] * 3),
        "never-declared": packed(3, [[(5, 0, 0, -1, (1,))]]),
        "largest": packed(2, [[(5, 2**63 - 1, 2**63 - 1, 0, (1,))]], common=[2**62, 0]),
        "bytes-overflow": packed(3, [[(5, 2**62, 1, 0, (1, 2)), (6, 2**62, 1, 0, (1, 2))]]),
        "elements-overflow": packed(3, [[(5, 1, 2**62, 0, (1, 2)), (6, 1, 2**62, 1, (0, 2))]]),
        "common-overflows": packed(2, [], common=[2**62, 2**62]),
        "loads-overflow": packed(2, [], loads=[1.7e308, 1.7e308]),
        "not-in-order": packed(3, [[(7, 1, 1, 0, (1,)), (7, 1, 1, 0, (2,))]]),
        "home-out-of-range": packed(3, [[(7, 1, 1, 3, (1,))]]),
        "user-out-of-range": packed(3, [[(7, 1, 1, 0, (3,))]]), "users-twice": packed(3, [[(7, 1, 1, 0, (1, 1))]]),
        "negative-bytes": packed(3, [[(7, -1, 1, 0, (1,))]]), "negative-load": packed(2, [], loads=[-1.0, 0.0]),
        "nan": packed(2, [], loads=[float("nan"), 0.0]), "for-others": b"\x25" + usual[1:], "truncated": usual[:-1],
        "junk-behind": usual + b"\1",
        "blocks-lie": usual[:1 + 8 * 17] + struct.pack("<q", 2**61) + usual[1 + 8 * 18:], "empty": b""})


def charm_dump(user_data=False, order="<", version=3, word=8):
    """Two objects on two processors, as Charm++ 7 and 8 pack them; messages to an object, to a processor and to several."""
    size = "Q" if word == 8 else "I"
    head = bytes([0x10, 0xEA, 0xBD, 0xF9, 1, 1, 2, 4, word, 16, order == "<", 4, 8, order == "<", 1, word])
    out = head + struct.pack(order + "iii" + size, version, 2, 2, 2)
    for pe in 0, 1:
        out += struct.pack(order + "4d?ii", 1, 0.5, 0.25, 1, True, 1, pe)
    out += struct.pack(order + size, 2)
    for i in 0, 1:
        out += struct.pack(order + "iiQid??", 4, 0, 100 + i, i, 1.5 + i, True, False)
        out += (struct.pack(order + size, 2) + b"ab" if user_data else b"") + struct.pack(order + "H", 9)
    out += struct.pack(order + size + "ii" + size, 2, 0, 1, 3)
    out += struct.pack(order + "iiQbiQiii", -1, 4, 100, 2, 4, 101, 1, 3, 64)
    out += struct.pack(order + "iiQbiii", -1, 4, 101, 1, 0, 1, 8)
    out += struct.pack(order + "iiQbiiQiQii", -1, 4, 101, 3, 2, 4, 100, 4, 7, 1, 8)
    return out


def make_traces():
    items = "item,x,y,z,load_ms,phase,rank,bytes\n0,0,0,0,1.5,0,0,80\n1,1,0,0,2.5,0,1,80\n0,0,0,1,1.5,1,0,80\n"
    edges = "from,to,bytes,phase\n0,1,64,0\n1,0,32,\n"
    save_all("traces", {
        "table": " " + items, "table-and-edges": b"\x80" + (items + "\n===\n" + edges).encode(),
        "one-file": " " + items + "\n# edges\n" + edges, "tabs": "\t" + items.replace(",", "\t"),
        "semicolons-and-quotes": " " + items.replace(",", ";").replace("item", '"item"').replace("\n", "\r\n"),
        "blanks": "  item  load\n 3  1\n 7  2\n", "fixed": " item,load,rank,fixed\n0,1,0,1\n1,1,1,0\n"})
    for name, text in (("nan", "item,load\n0,nan\n"), ("negative", "item,load\n0,-1\n"), ("large", "item,load\n0,1e19\n"),
                       ("twice", "item,load\n0,1\n0,2\n"), ("item-2-63", "item,load\n9223372036854775808,1\n"),
                       ("item-below", "item,load\n-1,1\n"), ("rank-2-16", "item,load,rank\n0,1,65536\n"),
                       ("half-a-rank", "item,load,rank\n0,1,\n"), ("short", "item,load\n0\n"), ("no-load", "item,x\n0,1\n"),
                       ("unit", "item,load_parsec\n0,1\n"), ("stranger", "item,load\n0,1\nfrom,to\n0,9\n"),
                       ("half-a-place", "item,x,y,load\n0,1,,1\n"), ("no-header", "0,1\n"), ("header-alone", "item,load\n"),
                       ("two-loads", "item,load,time\n0,1,1\n"), ("zero-byte", "item,load\n0,1\0\n"), ("empty", ""),
                       ("fixed-nowhere", "item,load,fixed\n0,1,1\n"), ("phase-2-62", f"item,load,phase\n0,1,{2**62}\n")):
        save("traces", name, " " + text)
    save("traces", "few-meet", " item,load,phase\n" + "".join(f"{i},1,{i}\n" for i in range(300)))
    names = "cost proc lev i_low j_low k_low hostname".split()
    header = "#[1]step() [2]time(s) " + " ".join(f"[{3 + 7 * b + k}]{name}_box_{b}()" for b in (0, 1) for k, name in enumerate(names))
    boxes = header + "\n0 0.0 1.5 0 0 0 0 0 host 2.5 1 1 16 0 0 host\n5 0.5 1.5 0 0 0 0 0 host NaN NaN NaN NaN NaN NaN NaN\n"
    save_all("traces", {
        "boxes": " " + boxes, "boxes-half": " " + boxes.replace("2.5 1 1", "2.5 1 NaN"),
        "boxes-level": " " + boxes.replace("2.5 1 1", "2.5 1 1e9"),
        "boxes-too-many": " " + boxes.replace("host\n5", "host 9\n5"),
        "boxes-number": " " + boxes.replace("_box_1", "_box_999999999")})
    task = '{"entity":{"id":%s,"home":%d,"type":"object","migratable":%s},"node":%d,"resource":"cpu","time":%s}'
    tasks = ",".join((task % ("262147", 0, "true", 0, "0.5"), task % ("524291", 0, "true", 1, "1"), task % ("1", 0, "false", 0, "0.25")))
    sent = ('{"type":"SendRecv","messages":1,"bytes":8.0,"from":{"type":"object","id":262147},"to":{"type":"object","id":524291}},'
            '{"type":"NodeToCollection","messages":1,"bytes":8,"from":{"type":"node","id":0},"to":{"type":"object","id":1}}')
    vt = '{"metadata":{"type":"LBDatafile"},"phases":[{"id":0,"tasks":[' + tasks + '],"communications":[' + sent + ']}]}'
    repeats = vt.replace('"type":"LBDatafile"', '"phases":{"identical_to_previous":{"list":[1],"range":[[2,3]]}}', 1)
    save_all("traces", {
        "vt": " " + vt, "vt-repeats": " " + repeats, "vt-repeats-nothing": " " + repeats.replace("[1]", "[0]"),
        "vt-repeats-for-ever": " " + repeats.replace("[2,3]", "[2,9223372036854775807]"),
        "vt-sequence": " " + vt.replace('"id":262147', '"seq_id":1,"collection_id":7,"home":0,"migratable":true'),
        "vt-twice": " " + vt.replace("524291", "262147"), "vt-time": " " + vt.replace('"time":1', '"time":-1'),
        "vt-no-node": " " + vt.replace('"node":1', '"mode":1'), "vt-bytes": " " + vt.replace("8.0", "1e300"),
        "vt-large-id": " " + vt.replace("524291", "18446744073709551615"), "vt-cut": " " + vt[:200],
        "vt-deep": " {" + '"a":{' * 3000, "vt-other": ' {"phases":7}'})
    for name, dump in (("charm", charm_dump()), ("charm-user-data", charm_dump(True)), ("charm-big-endian", charm_dump(order=">")),
                       ("charm-32-bit", charm_dump(word=4)), ("charm-version", charm_dump(version=9)), ("charm-cut", charm_dump()[:-1]),
                       ("charm-junk-behind", charm_dump() + b"x"), ("charm-head", charm_dump()[:12])):
        save("traces", name, b" " + dump)
    save("traces", "charm-count", b" " + charm_dump()[:28] + b"\xff" * 8 + charm_dump()[36:])


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: make_corpus.py FOLDER")
    shutil.rmtree(corpus, ignore_errors=True)
    shutil.copytree(here / "kept", corpus)
    for make in [value for name, value in globals().items() if name.startswith("make_")]:
        make()
