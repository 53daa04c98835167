/** The filter of system calls: what it says for each call, by a small interpreter, and what the kernel says in a sandbox. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { seccompFilter } from '../../../../lib/commands/sandbox/seccomp.ts'
import { createTree, reason } from './_sandbox.ts'

const test = suite('seccomp')

type Call = { audit: number; number: number; family?: number }

/** `allow`, or the number of the error. */
const verdictOf = (filter: Buffer, { audit, number, family = 0 }: Call): 'allow' | number => {
  const data: Record<number, number> = { 0: number, 4: audit, 16: family }
  let loaded = 0
  for (let at = 0; at * 8 < filter.length; at++) {
    const [code, value] = [filter.readUInt16LE(at * 8), filter.readUInt32LE(at * 8 + 4)]
    const [then = 0, otherwise = 0] = filter.subarray(at * 8 + 2, at * 8 + 4)
    if (code === 0x20) loaded = data[value] ?? assert.unreachable(`offset ${value}`) ?? 0
    else if (code === 0x06) return value === 0x7fff0000 ? 'allow' : value & 0xffff
    else at += (code === 0x15 ? loaded === value : loaded >= value) ? then : otherwise
  }
  throw new Error('it ends without a verdict')
}

const X64 = 0xc000003e
const ARM64 = 0xc00000b7
const I386 = 0x40000003

for (const [name, audit, sockets, keys] of [
  ['x64', X64, [41, 53], [248, 249, 250]],
  ['arm64', ARM64, [198, 199], [217, 218, 219]],
] as const)
  test(`${name}: four families of sockets, no keys, no io_uring, no other architecture`, () => {
    const filter = seccompFilter(name) ?? Buffer.alloc(0)
    const verdict = (call: Omit<Call, 'audit'>) => verdictOf(filter, { audit, ...call })
    for (const number of sockets)
      for (let family = 0; family < 64; family++)
        assert.is(
          verdict({ number, family }),
          [1, 2, 10, 16].includes(family) ? 'allow' : 97,
          `family ${family}`,
        )
    for (const number of [...keys, 425]) assert.is(verdict({ number }), 38)
    const refused: number[] = [...keys, 425, ...sockets]
    for (let number = 0; number < 600; number++)
      if (!refused.includes(number)) assert.is(verdict({ number, family: 40 }), 'allow')
    // x32, and i386 with its socketcall.
    assert.is(verdict({ number: 0x40000000 + 41, family: 40 }), 38)
    assert.is(verdictOf(filter, { audit: I386, number: 102 }), 38)
  })

test('other computers have no filter', () => assert.is(seccompFilter('riscv64'), null))

const inside = reason === null ? test : test.skip

inside('in the sandbox: sockets of the hypervisor and keys of the kernel', async () => {
  using tree = createTree()
  const script = `
      import ctypes, os, socket
      libc = ctypes.CDLL(None, use_errno=True)
      for family in (1, 2, 10, 16, 17, 31, 38, 40):
        libc.socket(family, 3 if family == 16 else 1, 0) >= 0 and print(family)
      libc.syscall(${process.arch === 'x64' ? 250 : 219}, 0, -3, 0) >= 0 and print('keyctl')
      libc.syscall(425, 1, 0) < 0 and ctypes.get_errno() == 38 and print('no ring')
      for path in ('/proc/keys', '/proc/key-users'):
        try:
          open(path).read() and print(path)
        except OSError: pass`
  const lines = script.split('\n').slice(1)
  const { stdout, stderr } = await tree.exec('python3', [
    '-c',
    lines.map(line => line.slice(6)).join('\n'),
  ])
  assert.is(String(stdout), '1\n2\n10\n16\nno ring\n', stderr)
})

test.run()
