#include "textflag.h"

DATA nibbles<>+0(SB)/8, $0x0f0f0f0f0f0f0f0f
GLOBL nibbles<>(SB), RODATA|NOPTR, $8

// LANES sets a bit of each byte of out for each group that the three bytes from SI+AX+off on may be of.
#define LANES(off, out) \
	VMOVDQU (off+0)(SI)(AX*1), Y6; \
	VMOVDQU (off+1)(SI)(AX*1), Y7; \
	VMOVDQU (off+2)(SI)(AX*1), Y8; \
	VPSRLW $4, Y6, Y9; \
	VPSRLW $4, Y7, Y10; \
	VPSRLW $4, Y8, Y11; \
	VPAND Y15, Y9, Y9; \
	VPAND Y15, Y10, Y10; \
	VPAND Y15, Y11, Y11; \
	VPSHUFB Y6, Y0, Y6; \
	VPSHUFB Y7, Y2, Y7; \
	VPSHUFB Y8, Y4, Y8; \
	VPSHUFB Y9, Y1, Y9; \
	VPSHUFB Y10, Y3, Y10; \
	VPSHUFB Y11, Y5, Y11; \
	VPAND Y6, Y9, Y6; \
	VPAND Y7, Y10, Y7; \
	VPAND Y8, Y11, Y8; \
	VPAND Y6, Y7, Y6; \
	VPAND Y6, Y8, out

// func wideScan(b *byte, n int, t *triples) (at int, lanes uint64)
TEXT ·wideScan(SB), NOSPLIT, $0-40
	MOVQ b+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ t+16(FP), DI
	VPBROADCASTQ nibbles<>(SB), Y15
	VMOVDQU 0(DI), Y0
	VMOVDQU 32(DI), Y1
	VMOVDQU 64(DI), Y2
	VMOVDQU 96(DI), Y3
	VMOVDQU 128(DI), Y4
	VMOVDQU 160(DI), Y5
	XORQ AX, AX
	XORQ DX, DX
	SUBQ $66, CX

loop:
	CMPQ AX, CX
	JGT  done
	LANES(0, Y12)
	LANES(32, Y13)
	VPOR Y12, Y13, Y14
	VPTEST Y14, Y14
	JNZ  found
	ADDQ $64, AX
	JMP  loop

found:
	VPXOR Y14, Y14, Y14
	VPCMPEQB Y12, Y14, Y12
	VPCMPEQB Y13, Y14, Y13
	VPMOVMSKB Y12, DX
	VPMOVMSKB Y13, BX
	SHLQ $32, BX
	ORQ  BX, DX
	NOTQ DX

done:
	VZEROUPPER
	MOVQ AX, at+24(FP)
	MOVQ DX, lanes+32(FP)
	RET
