/* How the marks of charts look, as CSS in a format of rgmi_mark(). */
#ifndef RGM_DRAW_LOOK_H
#define RGM_DRAW_LOOK_H

/* Tones: ColorBrewer's YlGnBu from green on, on dark paper the lighter the better as viridis; both
 * are told apart with any colour vision. Trials: Okabe and Ito. */
#define MARKS                                                                                      \
    "text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}"           \
    ".m{text-anchor:middle}.e{text-anchor:end}.h{font-weight:600}"                                 \
    ".o{paint-order:stroke;stroke-width:3px;stroke-linejoin:round;font-size:11px}"                 \
    ".l{fill:none;stroke:currentColor;stroke-width:1.2;stroke-linejoin:round}"                     \
    ".d{fill:currentColor}.g,.a{fill:none}"                                                        \
    ".w .l,.l.w{stroke-width:2}.b .l{stroke-width:3}.n .l{stroke-width:1}"                         \
    ".p1 .l{stroke-opacity:.85}.p2 .l{stroke-opacity:.6}.p3 .l{stroke-opacity:.35}.p1 .b .l,.p2 "  \
    ".b .l,.p3 .b .l{stroke-opacity:1}"                                                            \
    "circle.d{fill-opacity:.8}circle.best{fill-opacity:1}"
#define LIGHT                                                                                      \
    "text{fill:#4a5163}.h{fill:#1b2030}.o{stroke:#fff}.g{stroke:#e8ebf0}.a{stroke:#8d95a5}"        \
    ".track{fill:#eef0f4}.n{color:#c3c9d3}.best{color:#d55e00}"                                    \
    ".c0{color:#b5dcae}.c1{color:#7fcdbb}.c2{color:#41b6c4}.c3{color:#1d91c0}.c4{color:#225ea8}"   \
    ".c5{color:#253494}.c6{color:#081d58}"                                                         \
    ".t0{color:#0072b2}.t1{color:#d55e00}.t2{color:#009e73}.t3{color:#cc79a7}.t4{color:#e69f00}"   \
    ".t5{color:#56b4e9}"
#define DARK                                                                                       \
    "text{fill:#a9b1c2}.h{fill:#eef1f7}.o{stroke:#161a23}.g{stroke:#262c39}.a{stroke:#6b7486}"     \
    ".track{fill:#222835}.n{color:#434b5c}.best{color:#ff8f5a}"                                    \
    ".c0{color:#414b80}.c1{color:#39679a}.c2{color:#2c8799}.c3{color:#27a38c}.c4{color:#57be68}"   \
    ".c5{color:#a6d23b}.c6{color:#f5e636}"                                                         \
    ".t0{color:#4aa8e0}.t1{color:#ff8f5a}.t2{color:#2cc79a}.t3{color:#e39cc6}.t4{color:#f0b53c}"   \
    ".t5{color:#8ed0f5}"
/* Beside them, of learning curves: what pixels.c paints too. */
#define CURVES                                                                                     \
    ".pale .l{stroke-opacity:.5;stroke-width:1.4}.dash1 .l{stroke-dasharray:7 4}.dash2 "           \
    ".l{stroke-dasharray:2 3}.dash3 .l{stroke-dasharray:9 3 2 3}.t6{color:#1b2030}"

#endif
