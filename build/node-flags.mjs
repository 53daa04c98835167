/**
 * Options of Node for the service. V8 lets the young generation grow to 96 MB for a program with much garbage; with parts of 4 MB
 * the service needs 40 MB less in a long turn and the same CPU time (`npm run bench -- engine`). Starting
 * with parts of 4 MB, 4 MB less of what a start creates is moved to the old generation. SIGUSR1 opens no debugger:
 * lib/start.ts.
 */
export const NODE_FLAGS = [
  '--max-semi-space-size=4',
  '--min-semi-space-size=4',
  '--disable-sigusr1',
]

/**
 * Variables for the memory allocator of Linux (glibc): blocks of 64 kB and more, such as chunks of buffers, are returned to the system
 * when they are freed, and the rest of the heap when 128 kB are free at its end. By default both limits grow to the largest block that
 * was ever freed, times two for the second. What is freed between blocks that stay is never returned: with limits of 1 MB and 512 kB
 * a service held 143 MB after 20 turns, with these 125.
 */
export const ALLOCATOR = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '65536',
  MALLOC_TRIM_THRESHOLD_: '131072',
}
