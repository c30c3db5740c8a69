// A program in C that does not know CUDA.
#include <stdio.h>

void ask(int* begun, int* updated, int* devices);

int main(void) {
  int begun = 1, updated = 1, devices = 0;
  ask(&begun, &updated, &devices);
  printf("%d %d %d\n", begun, updated, devices);
  return 0;
}
