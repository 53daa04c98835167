/** Versions of files that earlier builds stored: in a Git repository, or plain where there was no Git. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { blobId, CheckpointStore } from '../../../../lib/workspaces/checkpoints/checkpoint-store.ts'
import { tempDir } from '../../../_temp-dir.ts'

test('what an earlier build recorded can still be shown and restored', async () => {
  const dir = tempDir('old-versions')
  execFileSync('git', ['init', '--quiet', '--bare', dir])
  const input = Buffer.from('bytes \0 of a turn\r\n')
  const env = { ...process.env, GIT_DIR: dir }
  const id = execFileSync('git', ['hash-object', '-w', '--stdin'], { input, env })
  const store = new CheckpointStore(dir, '/work')
  assert.equal(await store.get(id.toString().trim()), input)
  const plain = Buffer.from('plain')
  mkdirSync(join(dir, 'webui', 'files'))
  writeFileSync(join(dir, 'webui', 'files', blobId(plain)), plain)
  assert.equal(await store.get(blobId(plain)), plain)
  writeFileSync(join(dir, 'secret'), 'secret')
  const outside = await store.get('../../secret').catch((reason: Error) => reason)
  assert.match(String(outside), /no longer exists/)
  const error = await store.get('0'.repeat(40)).catch((reason: Error) => reason)
  assert.match(String(error), /no longer exists/)
})

test.run()
