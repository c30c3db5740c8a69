// Token pasting of expanded arguments, for the names that half and bfloat16 spell alike.
#pragma once
#define FB_PASTE2_(a, b) a##b
#define FB_PASTE3_(a, b, c) a##b##c
#define FB_PASTE2(a, b) FB_PASTE2_(a, b)
#define FB_PASTE3(a, b, c) FB_PASTE3_(a, b, c)
