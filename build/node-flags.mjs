/**
 * Options of Node for the service. V8 lets the young generation grow to 96 MB for a program with much garbage; with parts of 4 MB
 * the service needs 40 MB less in a long turn and the same CPU time (`npm run bench -- engine`). Starting
 * with parts of 4 MB, 4 MB less of what a start creates is moved to the old generation. SIGUSR1 opens no debugger:
 * lib/own-processes/close-debugger.ts.
 */
export const NODE_FLAGS = [
  '--max-semi-space-size=4',
  '--min-semi-space-size=4',
  '--disable-sigusr1',
]

/**
 * Variables for the memory allocator of Linux (glibc): blocks of 1 MB and more are returned to the system when they are freed,
 * and the rest of the heap when 512 kB are free at its end. By default both limits grow to the largest block that was ever freed,
 * times two for the second, and the service holds tens of MB that it used once: 12 MB of ten turns with 500 readers, and as much
 * of a long turn (`npm run bench -- streams engine`).
 */
export const ALLOCATOR = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '1048576',
  MALLOC_TRIM_THRESHOLD_: '524288',
}
