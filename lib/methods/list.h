/* SPDX-License-Identifier: BSD-3-Clause */
/* The methods, in the order of `--balance help`: name of the row eqp__method_NAME, its folder, and the library that it
 * needs, or NULL. A new method takes a folder and a line here; lib/methods/meson.build reads the folders from this
 * file. */
EQP__ROW(none, curve, NULL)
EQP__ROW(count, curve, NULL)
EQP__ROW(sfc, curve, NULL)
EQP__ROW(rcb, rcb, "Zoltan")
EQP__ROW(interaction, hypergraph, "Zoltan")
EQP__ROW(tiles, tiles, NULL)
EQP__ROW(jagged, tiles, NULL)
EQP__ROW(tensor, tensor, NULL)
EQP__ROW(feedback, feedback, NULL)
EQP__ROW(diffusion, diffusion, NULL)
EQP__ROW(voronoi, voronoi, NULL)
EQP__ROW(rib, rcb, "Zoltan")
EQP__ROW(hypergraph, hypergraph, "Zoltan")
EQP__ROW(metis, graph, "METIS")
EQP__ROW(levelled, levels, NULL)
