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
	SUBQ $67, CX

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

// FOURS sets a bit of each byte of out for each group that the four bytes from SI+AX+off on are of.
#define FOURS(off, out, second, third, fourth) \
	VMOVDQU64 (off+0)(SI)(AX*1), out; \
	VMOVDQU64 (off+1)(SI)(AX*1), second; \
	VMOVDQU64 (off+2)(SI)(AX*1), third; \
	VMOVDQU64 (off+3)(SI)(AX*1), fourth; \
	VPERMI2B Z1, Z0, out; \
	VPERMI2B Z3, Z2, second; \
	VPERMI2B Z5, Z4, third; \
	VPERMI2B Z14, Z13, fourth; \
	VPTERNLOGQ $0x80, third, second, out; \
	VPANDQ fourth, out, out

// func fourScan(b *byte, n int, t *fours) (at int, lanes uint64)
TEXT ·fourScan(SB), NOSPLIT, $0-40
	MOVQ b+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ t+16(FP), DI
	VMOVDQU64 0(DI), Z0
	VMOVDQU64 64(DI), Z1
	VMOVDQU64 128(DI), Z2
	VMOVDQU64 192(DI), Z3
	VMOVDQU64 256(DI), Z4
	VMOVDQU64 320(DI), Z5
	VMOVDQU64 384(DI), Z13
	VMOVDQU64 448(DI), Z14
	XORQ AX, AX
	XORQ DX, DX
	SUBQ $67, CX
	LEAQ -64(CX), R8

pair:
	CMPQ AX, R8
	JGT  single
	FOURS(0, Z6, Z7, Z8, Z15)
	FOURS(64, Z9, Z10, Z11, Z16)
	VPORQ Z6, Z9, Z12
	VPTESTMB Z12, Z12, K1
	KORTESTQ K1, K1
	JNZ  found
	ADDQ $128, AX
	JMP  pair

found:
	VPTESTMB Z6, Z6, K1
	KMOVQ K1, DX
	TESTQ DX, DX
	JNZ  done
	ADDQ $64, AX
	VPTESTMB Z9, Z9, K1
	KMOVQ K1, DX
	JMP  done

single:
	CMPQ AX, CX
	JGT  done
	FOURS(0, Z6, Z7, Z8, Z15)
	VPTESTMB Z6, Z6, K1
	KMOVQ K1, DX
	TESTQ DX, DX
	JNZ  done
	ADDQ $64, AX
	JMP  single

done:
	VZEROUPPER
	MOVQ AX, at+24(FP)
	MOVQ DX, lanes+32(FP)
	RET
