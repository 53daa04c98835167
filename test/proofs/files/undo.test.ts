/** Changes of a turn are recorded and restored exactly: every kind of file, by file tools and by commands. */
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { UserError } from '../../../lib/errors.ts'
import { createTurns, snapshot } from '../../lib/workspaces/checkpoints/_turns.ts'

type State = { turns: ReturnType<typeof createTurns> }
const test = suite<State>('undo of a turn')
test.before.each(state => {
  state.turns = createTurns()
})
test.after.each(({ turns }) => turns.close())

const refusal = async (work: Promise<unknown>): Promise<UserError> => {
  try {
    await work
  } catch (error) {
    if (error instanceof UserError) return error
    throw error
  }
  throw new Error('It should have been refused.')
}

const BINARY = Buffer.from([0, 255, 13, 10, 0, 26, 200])

/** Writes every kind of file. */
const fill = ({ write, at, shell }: State['turns']) => {
  write('plain.txt', 'one\ntwo\n')
  write('crlf.txt', 'a\r\nb\r\n')
  write('mixed.txt', 'a\r\nb\nc')
  write(
    '.gitattributes',
    '* text=auto eol=lf filter=bad ident\n*.txt working-tree-encoding=UTF-16\n',
  )
  write('ident.c', '$Id$\n')
  write('image.bin', BINARY)
  write('empty', '')
  write('script.sh', 'echo\n')
  chmodSync(at('script.sh'), 0o755)
  write('secret.key', 'k')
  chmodSync(at('secret.key'), 0o600)
  write('odd.sh', 'x')
  chmodSync(at('odd.sh'), 0o777)
  write('.gitignore', 'ignored.txt\nlogs/\n')
  write('ignored.txt', 'ignored')
  write('logs/a.log', 'log')
  write('deep/er/file.md', '# hi\n')
  write('go/old.txt', 'to be moved')
  symlinkSync('plain.txt', at('link'))
  symlinkSync('/nowhere/at/all', at('dangling'))
  mkdirSync(at('empty-folder'))
  write('new\nline.txt', 'n')
  write('-rf', 'dash')
  write('ünï 漢字 "q" \\ back', 'u')
  write('build', 'a file called like a folder of products')
  write('nested/.git/HEAD', 'ref: refs/heads/main\n')
  write('nested/src/a.ts', 'nested')
  shell(
    'git init -q real && cd real && echo r > r.txt && git -c user.name=a -c user.email=a@b.c add . ',
  )
}

const HAVOC = `
printf 'three' >> plain.txt; printf 'c\\r\\n' >> crlf.txt; rm mixed.txt; echo '$Id: x$' > ident.c
printf '\\000\\001' > image.bin; echo full > empty; chmod -x script.sh; chmod 644 secret.key; chmod 600 odd.sh
echo other > ignored.txt; rm -r logs; mv go/old.txt go/new.txt; rm -r deep; ln -sf crlf.txt link; rm dangling
rmdir empty-folder; mkdir another-empty; rm -- $'new\\nline.txt' -rf; echo changed > 'ünï 漢字 "q" \\ back'
echo changed > nested/src/a.ts; echo b > nested/src/b.ts; echo changed > real/r.txt; rm build; mkdir build; echo in > build/in
mkdir -p made/by/it; echo x > made/by/it/x; echo '* text' > .gitattributes; ln -s /etc escape; rm link; mkdir link; echo y > link/y
`

test('undoes the changes of a command to every kind of file exactly, and redoes them', async ({
  turns,
}) => {
  fill(turns)
  const before = snapshot(turns.workspace)
  const { id, notes } = await turns.turn('workspace', () => turns.shell(HAVOC))
  assert.equal(notes, [])
  const after = snapshot(turns.workspace)
  assert.is.not(JSON.stringify(after), JSON.stringify(before))
  const [record] = await turns.list()
  assert.is(record?.id, id)
  const line = (path: string) => record?.changes.find(change => change.path === path)
  assert.equal([line('plain.txt')?.added, line('plain.txt')?.removed], [1, 0])
  assert.is(line('image.bin')?.added, null)
  assert.is(line('mixed.txt')?.after, null)
  assert.is(line('go/new.txt')?.before, null)
  assert.is(line('secret.key')?.before?.perm, 0o600)
  assert.ok(
    line('ignored.txt') && line('logs/a.log') && line('nested/src/b.ts') && line('real/r.txt'),
  )

  const undone = await turns.restore(id)
  assert.equal(undone.failed, [])
  assert.equal(snapshot(turns.workspace), before)

  const [newest] = await turns.list()
  assert.is(newest?.undo_of, id)
  const redone = await turns.restore(undone.checkpoint ?? '')
  assert.equal(redone.failed, [])
  assert.equal(snapshot(turns.workspace), after)
})

test('undoes tool writes without a scan, also ignored files and files outside', async ({
  turns,
}) => {
  const { write, at, workspace, root } = turns
  write('.gitignore', 'out/\n')
  write('a.txt', 'old a')
  write('node_modules/x.js', 'old x')
  write('.git/config', '[core]\n')
  writeFileSync(join(root, 'outside.txt'), 'outside')
  const before = snapshot(root)
  const paths = ['a.txt', 'node_modules/x.js', 'new/deep/b.txt', 'out/c.txt', '.git/config']
  const { id } = await turns.turn([...paths, '../outside.txt'], () => {
    for (const path of paths) write(path, `new ${path}`)
    writeFileSync(join(root, 'outside.txt'), 'changed')
  })
  const [record] = await turns.list()
  assert.equal(
    record?.changes.map(({ path }) => path),
    [
      '.git/config',
      join(root, 'outside.txt'),
      'a.txt',
      'new/deep/b.txt',
      'node_modules/x.js',
      'out/c.txt',
    ],
  )
  assert.equal((await turns.restore(id)).failed, [])
  const now = snapshot(root)
  for (const [path, was] of Object.entries(before)) assert.is(now[path], was, path)
  assert.is(readFileSync(at('.git/config'), 'utf8'), '[core]\n')
  assert.not(existsSync(at('new')))
  assert.ok(existsSync(workspace))
})

test('a file written by a tool and then by a command returns to its first state', async ({
  turns,
}) => {
  turns.write('a.txt', 'first')
  const { recorder, streamId } = turns.open()
  await recorder.beforeChange([turns.at('a.txt')])
  turns.write('a.txt', 'second')
  await recorder.beforeChange('workspace')
  turns.write('a.txt', 'third')
  turns.write('b.txt', 'made')
  await recorder.end()
  await turns.restore(streamId)
  assert.equal(snapshot(turns.workspace), { 'a.txt': '644 first' })
})

test('a turn without changes has no record', async ({ turns }) => {
  turns.write('a.txt', 'a')
  await turns.turn('workspace', () => {
    turns.write('a.txt', 'b')
    turns.write('a.txt', 'a')
  })
  await turns.turn(['a.txt', 'b.txt'], () => turns.write('a.txt', 'a'))
  assert.equal(await turns.list(), [])
})

test('an undo that cannot be announced changes no file and leaves no record', async ({ turns }) => {
  turns.write('a', 'old')
  const { id } = await turns.turn(['a'], () => turns.write('a', 'new'))
  const full = () => {
    throw new Error('disk full')
  }
  const error = await turns.restore(id, {}, full).catch((thrown: unknown) => thrown)
  assert.match(String(error), 'disk full')
  assert.is(snapshot(turns.workspace).a, '644 new')
  assert.is((await turns.list()).length, 1)
})

test('reports and keeps files changed since, unless forced', async ({ turns }) => {
  turns.write('a.txt', 'a')
  turns.write('b.txt', 'b')
  const { id } = await turns.turn('workspace', () => turns.shell('echo A > a.txt; echo B > b.txt'))
  turns.write('a.txt', 'mine')
  const refused = await refusal(turns.restore(id))
  assert.is(refused.kind, 'conflict')
  assert.equal(refused.extra.conflicts, ['a.txt'])
  assert.is(readFileSync(turns.at('b.txt'), 'utf8'), 'B\n')
  // First the files without conflict, one by one; then the rest with force, which is undone again.
  assert.equal((await turns.restore(id, { paths: ['b.txt'] })).restored, ['b.txt'])
  const forced = await turns.restore(id, { force: true })
  assert.equal([forced.restored, forced.unchanged], [['a.txt'], ['b.txt']])
  assert.is(readFileSync(turns.at('a.txt'), 'utf8'), 'a')
  await turns.restore(forced.checkpoint ?? '')
  assert.is(readFileSync(turns.at('a.txt'), 'utf8'), 'mine')
  assert.is((await refusal(turns.restore(id, { paths: ['../x'] }))).kind, 'missing')
  assert.is((await refusal(turns.restore('f'.repeat(32)))).kind, 'missing')
})

test('does not follow a folder replaced by a symlink, and does not remove a folder in the way', async ({
  turns,
}) => {
  turns.write('sub/a.txt', 'a')
  turns.write('file', 'f')
  mkdirSync(join(turns.root, 'outside'))
  writeFileSync(join(turns.root, 'outside', 'a.txt'), 'theirs')
  const { id } = await turns.turn('workspace', () => turns.shell('rm -r sub; rm file'))
  symlinkSync(join(turns.root, 'outside'), turns.at('sub'))
  turns.write('file/inner', 'kept')
  assert.equal((await refusal(turns.restore(id))).extra.conflicts, ['file', 'sub/a.txt'])
  const forced = await turns.restore(id, { force: true })
  assert.is(forced.failed.length, 2)
  assert.is(readFileSync(join(turns.root, 'outside', 'a.txt'), 'utf8'), 'theirs')
  assert.is(readFileSync(turns.at('file/inner'), 'utf8'), 'kept')
  assert.is(forced.checkpoint, null)
})

test('diffs of text, binary, mode and renamed files', async ({ turns }) => {
  turns.write('a.txt', 'one\ntwo\n')
  turns.write('b.bin', BINARY)
  turns.write('c.sh', 'x\n')
  turns.write('d.txt', `${'line\n'.repeat(100_000)}`)
  const { id } = await turns.turn('workspace', () =>
    turns.shell(
      "echo ONE > a.txt; printf '\\0' > b.bin; chmod +x c.sh; echo more >> d.txt; echo new > -n",
    ),
  )
  const of = async (path: string) => turns.diff(id, path)
  assert.match(
    (await of('a.txt')).diff,
    '--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,1 @@\n-one\n-two\n+ONE\n',
  )
  assert.ok((await of('b.bin')).binary)
  assert.is((await of('c.sh')).diff, 'old mode 100644\nnew mode 100755\n')
  assert.ok((await of('d.txt')).truncated)
  assert.match((await of('-n')).diff, '--- /dev/null\n+++ b/-n\n')
  assert.is((await refusal(of('e'))).kind, 'missing')
})

test('a file that a command and then a tool changed returns to its first state', async ({
  turns,
}) => {
  turns.write('a.txt', 'first')
  const { recorder, streamId } = turns.open()
  await recorder.beforeChange('workspace')
  turns.write('a.txt', 'second')
  turns.write('b.txt', 'made')
  await recorder.beforeChange([turns.at('a.txt'), turns.at('b.txt')])
  turns.write('a.txt', 'third')
  turns.write('b.txt', 'more')
  await recorder.end()
  await turns.restore(streamId)
  assert.equal(snapshot(turns.workspace), { 'a.txt': '644 first' })
})

test('a file that could not be read before is not taken for a new one', async ({ turns }) => {
  turns.write('a.txt', 'a')
  turns.write('locked', 'theirs')
  chmodSync(turns.at('locked'), 0)
  const { id } = await turns.turn('workspace', () => {
    chmodSync(turns.at('locked'), 0o644)
    turns.write('a.txt', 'b')
  })
  const [record] = await turns.list()
  if (process.getuid?.() !== 0)
    assert.equal(
      record?.changes.map(({ path }) => path),
      ['a.txt'],
    )
  await turns.restore(id)
  assert.is(readFileSync(turns.at('locked'), 'utf8'), 'theirs')
})

test.run()
