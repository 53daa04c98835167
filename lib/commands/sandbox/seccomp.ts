/**
 * The filter of system calls for bubblewrap, as a program for the kernel (classic BPF; see seccomp(2)). Namespaces separate
 * what has a namespace; this closes what has none: sockets of the hypervisor (AF_VSOCK), of the kernel's cryptography, and of
 * other rare families, and the keys that the kernel keeps for a user. Everything else is allowed.
 */

type Architecture = {
  /** AUDIT_ARCH_… of linux/audit.h. */
  audit: number
  socket: readonly number[]
  refused: readonly number[]
}

/** Numbers of `socket` and `socketpair`; of `add_key`, `request_key`, `keyctl`, and `io_uring_setup`, which makes sockets, too. */
const ARCHITECTURES: Readonly<Record<string, Architecture>> = {
  x64: { audit: 0xc000003e, socket: [41, 53], refused: [248, 249, 250, 425] },
  arm64: { audit: 0xc00000b7, socket: [198, 199], refused: [217, 218, 219, 425] },
}

/** AF_UNIX, AF_INET, AF_INET6, and AF_NETLINK, with which programs ask for the addresses of this computer. */
const FAMILIES = [1, 2, 10, 16]
/** Calls of the x32 ABI have this bit and the architecture of x64. */
const X32 = 0x40000000

const ALLOW = 0x7fff0000
const ERRNO = 0x00050000
const ENOSYS = 38
const EAFNOSUPPORT = 97

/** Offsets in `struct seccomp_data`. The family is an int: the lower half of the first argument. */
const DATA = { number: 0, architecture: 4, family: 16 } as const

const LOAD = 0x20
const RETURN = 0x06
const IF_EQUAL = 0x15
const IF_AT_LEAST = 0x35

/** A condition skips this many instructions when it holds, or when it does not. */
type Step = readonly [code: number, value: number, then?: number, otherwise?: number]

/** Each condition is followed by what is returned when it holds. */
const returnIf = (condition: number, values: readonly number[], result: number): Step[] =>
  values.flatMap((value): Step[] => [
    [condition, value, 0, 1],
    [RETURN, result],
  ])

const stepsFor = ({ audit, socket, refused }: Architecture): Step[] => [
  [LOAD, DATA.architecture],
  // Calls of a 32-bit program, which have other numbers.
  [IF_EQUAL, audit, 1, 0],
  [RETURN, ERRNO | ENOSYS],
  [LOAD, DATA.number],
  ...returnIf(IF_AT_LEAST, [X32], ERRNO | ENOSYS),
  ...returnIf(IF_EQUAL, refused, ERRNO | ENOSYS),
  ...socket.map((number, at): Step => [IF_EQUAL, number, socket.length - at, 0]),
  [RETURN, ALLOW],
  [LOAD, DATA.family],
  ...returnIf(IF_EQUAL, FAMILIES, ALLOW),
  [RETURN, ERRNO | EAFNOSUPPORT],
]

/** Null: there is none for this architecture. */
export const seccompFilter = (architecture: string = process.arch): Buffer | null => {
  const target = ARCHITECTURES[architecture]
  if (!target) return null
  const steps = stepsFor(target)
  const bytes = Buffer.alloc(steps.length * 8)
  for (const [at, [code, value, then = 0, otherwise = 0]] of steps.entries()) {
    bytes.writeUInt16LE(code, at * 8)
    bytes.writeUInt8(then, at * 8 + 2)
    bytes.writeUInt8(otherwise, at * 8 + 3)
    bytes.writeUInt32LE(value, at * 8 + 4)
  }
  return bytes
}
