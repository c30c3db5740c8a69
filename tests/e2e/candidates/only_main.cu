// problem: all_reduce_one_shot
// expect: compile_error
// explains: no solution in it
// mode: quick
// seconds: 20
// about: A program, and no solution.
int main() { return 0; }
