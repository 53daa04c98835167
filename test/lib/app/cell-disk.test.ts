/** A cell over the limit of its disk: who is told, what is refused, and that deleting is enough. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Agent, Tool } from '../../../lib/agent/types.ts'
import { withCommittedCalls } from '../../../lib/app/cell.ts'
import { CellDisk } from '../../../lib/app/cell-disk.ts'
import { systemClock } from '../../../lib/base/clock.ts'
import { alone } from '../../../lib/cluster/alone.ts'
import { readConfig } from '../../../lib/config.ts'
import { UserError } from '../../../lib/errors.ts'

const test = suite('app/cell-disk')

const MB = 2 ** 20

const diskOf = (dir: string, diskBytes: number, runBy: string | null = 'worker') => {
  const url = 'postgres://test@127.0.0.1/test'
  const config = readConfig({ HOME: dir, PATH: process.env.PATH, AGENT_WEBUI_CLUSTER_URL: url }, [])
  if (!config.cluster) throw new Error('no cluster')
  const told: string[][] = []
  const cluster = { ...config.cluster, diskBytes, runBy }
  const disk = new CellDisk({ ...config, cluster }, systemClock, (...sizes) => told.push(sizes))
  return { disk, told }
}

test('over the limit files are refused and commands are told; what is deleted makes room', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'disk-'))
  const { disk, told } = diskOf(dir, 2 * MB)
  const calls: string[] = []
  const tool = (name: string, kind: Tool['kind'], reaches: boolean): Tool =>
    ({
      ...{ name, kind },
      ...(reaches && { reaches: () => [] }),
      run: () => {
        calls.push(name)
        return { content: 'done' }
      },
    }) as unknown as Tool
  const tools = [
    tool('write_file', 'write', true),
    tool('memory', 'write', false),
    tool('terminal', 'execute', true),
    tool('read_file', 'read', true),
  ]
  const results = async (): Promise<string[]> => {
    const found: string[] = []
    const agent = (async (request: { tools: Tool[]; signal: AbortSignal }) => {
      for (const each of request.tools)
        found.push((await each.run({ signal: request.signal } as never, {})).content)
    }) as unknown as Agent
    const cell = { ...alone, epoch: 1 }
    const request = { tools, signal: new AbortController().signal }
    await withCommittedCalls(agent, cell, disk)(request as never, () => undefined)
    return found
  }
  await disk.measure()
  assert.equal(await results(), ['done', 'done', 'done', 'done'])
  writeFileSync(join(dir, 'large'), Buffer.alloc(3 * MB, 1))
  await disk.measure()
  await disk.measure()
  assert.is(told.length, 1, 'the person is told once')
  calls.length = 0
  const [written = '', remembered, ran = '', read] = await results()
  assert.match(written, /^The files .* the limit is/)
  assert.match(ran, /^done\n\n\[The files .* Delete what is not needed/)
  assert.equal([remembered, read], ['done', 'done'])
  assert.equal(calls, ['memory', 'terminal', 'read_file'])
  let refused: unknown
  try {
    disk.requireRoom()
  } catch (error) {
    refused = error
  }
  assert.ok(refused instanceof UserError)
  assert.equal([refused.kind, refused.code], ['full', 'disk_full'])
  rmSync(join(dir, 'large'))
  await disk.measure()
  disk.requireRoom()
  assert.equal(await results(), ['done', 'done', 'done', 'done'])
  rmSync(dir, { recursive: true })
})

test('without a limit, and without a worker, nothing is refused', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'disk-'))
  writeFileSync(join(dir, 'large'), Buffer.alloc(3 * MB, 1))
  for (const { disk } of [diskOf(dir, 0), diskOf(dir, MB, null)]) {
    await disk.measure()
    disk.requireRoom()
  }
  rmSync(dir, { recursive: true })
})

test.run()
