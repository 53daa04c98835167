/** While a command has its private Git directory, the person's own Git goes on in the real one: no ref of theirs is lost. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createPrivateGit } from '../../../../lib/commands/sandbox/private-git.ts'
import { GIT_ENV, git } from '../../../_git.ts'

const test = suite('refs that two Gits change at the same time')

type Place = {
  dir: string
  /** As the person. */
  outside: (...args: string[]) => string
  /** As the command. */
  inside: (...args: string[]) => string
  /** Another program holds this lock, or has left it. */
  lock: (name: string) => void
}

const commit = (message: string) => ['commit', '-q', '--allow-empty', '-m', message]

/** `main` has a commit, and so has `side`. Returns the note. */
const meanwhile = async (
  prepare: (place: Pick<Place, 'outside'>) => void,
  work: (place: Place) => void,
  check: (place: Place, note: string) => void,
): Promise<void> => {
  const dir = mkdtempSync(join(tmpdir(), 'private-git-'))
  try {
    const outside = (...args: string[]) => git(dir, ...args)
    outside('init', '-q', '--template=', '-b', 'main')
    outside(...commit('first'))
    outside('checkout', '-q', '-b', 'side')
    outside(...commit('on side'))
    outside('checkout', '-q', 'main')
    prepare({ outside })
    const common = join(dir, '.git')
    const own = createPrivateGit({ common, worktree: null }, { shown: common })
    const place: Place = {
      dir,
      outside,
      inside: (...args) =>
        execFileSync('git', args, {
          cwd: dir,
          env: { ...GIT_ENV, GIT_DIR: own.dir, GIT_WORK_TREE: dir },
          encoding: 'utf8',
          stdio: 'pipe',
        }).trim(),
      lock: name => writeFileSync(join(common, `${name}.lock`), ''),
    }
    work(place)
    const note = await own.finish()
    check(place, note ?? '')
    outside('fsck', '--strict')
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

const nothing = () => undefined
const packed = ({ outside }: Pick<Place, 'outside'>) => outside('pack-refs', '--all')

const branches = ({ outside }: Pick<Place, 'outside'>): string =>
  outside('for-each-ref', '--format=%(refname:short)=%(contents:subject)').replaceAll('\n', ' ')

test('both pack the refs', () =>
  meanwhile(
    nothing,
    ({ inside, outside }) => {
      inside('pack-refs', '--all')
      outside('tag', 'v1')
      outside('pack-refs', '--all')
    },
    (place, note) => {
      assert.is(branches(place), 'main=first side=on side v1=first')
      assert.match(note, 'packed-refs (another program')
    },
  ))

test('the person packs other refs than the command does', () =>
  meanwhile(
    nothing,
    ({ inside, outside }) => {
      inside('pack-refs', '--all')
      outside('tag', 'v1')
      // Only tags: the branches stay in files of their own.
      outside('pack-refs')
    },
    place => assert.is(branches(place), 'main=first side=on side v1=first'),
  ))

test('a lock of packed-refs that is never released', () =>
  meanwhile(
    nothing,
    ({ inside, lock }) => {
      inside(...commit('inside'))
      inside('checkout', '-q', '-b', 'new')
      inside(...commit('on new'))
      inside('gc', '-q')
      lock('packed-refs')
    },
    (place, note) => {
      // Also what the command made and packed.
      assert.is(branches(place), 'main=inside new=on new side=on side')
      assert.is(place.outside('log', '-1', '--format=%s'), 'on new')
      assert.match(note, 'packed-refs (another program')
    },
  ))

test('the command packs, and everything is taken over', () =>
  meanwhile(
    nothing,
    ({ inside }) => {
      inside(...commit('inside'))
      inside('branch', '-D', 'side')
      inside('gc', '-q')
    },
    (place, note) => {
      assert.is(branches(place), 'main=inside')
      assert.is(note, '')
    },
  ))

test('the command deletes branches, packed and not', async () => {
  for (const prepare of [nothing, packed])
    await meanwhile(
      prepare,
      ({ inside }) => {
        inside('branch', '-D', 'side')
        inside('branch', '-m', 'main', 'main/below')
      },
      (place, note) => {
        assert.is(branches(place), 'main/below=first')
        assert.is(place.outside('symbolic-ref', 'HEAD'), 'refs/heads/main/below')
        assert.is(note, '')
      },
    )
})

test('the command deletes a branch on which the person commits', async () => {
  for (const prepare of [nothing, packed])
    await meanwhile(
      prepare,
      ({ inside, outside }) => {
        inside('branch', '-D', 'side')
        outside('checkout', '-q', 'side')
        outside(...commit('outside'))
      },
      place => {
        assert.is(branches(place), 'main=first side=outside')
        assert.is(place.outside('log', '-1', '--format=%s'), 'outside')
        assert.match(place.outside('reflog', 'side'), 'outside')
      },
    )
})

test('the command deletes a branch to which the person goes', async () => {
  for (const prepare of [nothing, packed])
    await meanwhile(
      prepare,
      ({ inside, outside }) => {
        inside('branch', '-D', 'side')
        outside('checkout', '-q', 'side')
      },
      (place, note) => {
        assert.is(place.outside('log', '-1', '--format=%s'), 'on side')
        assert.match(note, 'another program')
      },
    )
})

test('the command deletes a packed branch, and packed-refs is not taken over', () =>
  meanwhile(
    place => {
      packed(place)
      place.outside('checkout', '-q', 'side')
      place.outside(...commit('newer'))
      place.outside('checkout', '-q', 'main')
    },
    ({ inside, lock }) => {
      inside('branch', '-D', 'side')
      lock('packed-refs')
    },
    // Without its file, the branch would go back to what is packed.
    place => assert.is(branches(place), 'main=first side=newer'),
  ))

test('the command renames the branch, and the new name or HEAD is locked', async () => {
  for (const prepare of [nothing, packed])
    for (const name of ['refs/heads/trunk', 'HEAD'])
      await meanwhile(
        prepare,
        ({ inside, lock }) => {
          inside('branch', '-m', 'main', 'trunk')
          lock(name)
        },
        (place, note) => {
          assert.is(place.outside('symbolic-ref', 'HEAD'), 'refs/heads/main')
          assert.is(place.outside('log', '-1', '--format=%s'), 'first')
          assert.match(place.outside('reflog', 'main'), 'first')
          assert.match(note, name)
        },
      )
})

test('both commit on a packed branch, and the person packs again', () =>
  meanwhile(
    packed,
    ({ inside, outside }) => {
      inside(...commit('inside'))
      outside(...commit('outside'))
      outside('pack-refs', '--all')
    },
    (place, note) => {
      assert.is(branches(place), 'main=outside side=on side')
      assert.match(note, 'refs/heads/main (another program')
    },
  ))

test('both make a branch of the same name, and the person packs it', () =>
  meanwhile(
    nothing,
    ({ inside, outside }) => {
      inside('checkout', '-q', '-b', 'new')
      inside(...commit('inside'))
      outside('branch', 'new', 'side')
      outside('pack-refs', '--all')
    },
    place => assert.is(branches(place), 'main=first new=on side side=on side'),
  ))

test('the person only packs what the command changes', () =>
  meanwhile(
    nothing,
    ({ inside, outside }) => {
      inside(...commit('inside'))
      outside('pack-refs', '--all')
    },
    (place, note) => {
      assert.is(branches(place), 'main=inside side=on side')
      assert.is(note, '')
    },
  ))

test('the person deletes a branch that the command packs', () =>
  meanwhile(
    nothing,
    ({ inside, outside }) => {
      inside('pack-refs', '--all')
      outside('branch', '-D', 'side')
    },
    place => assert.is(branches(place), 'main=first'),
  ))

test('the person goes to another branch while the command commits, or goes elsewhere', () =>
  meanwhile(
    nothing,
    ({ inside, outside }) => {
      inside(...commit('inside'))
      inside('checkout', '-q', '-b', 'new')
      outside('checkout', '-q', 'side')
      outside(...commit('outside'))
    },
    (place, note) => {
      assert.is(branches(place), 'main=inside new=inside side=outside')
      assert.is(place.outside('symbolic-ref', 'HEAD'), 'refs/heads/side')
      assert.match(note, 'HEAD (another program')
    },
  ))

test('the person holds the lock of the index', () =>
  meanwhile(
    nothing,
    ({ dir, inside, outside, lock }) => {
      writeFileSync(join(dir, 'theirs'), 'theirs\n')
      outside('add', 'theirs')
      writeFileSync(join(dir, 'ours'), 'ours\n')
      inside('add', 'ours')
      inside(...commit('inside'))
      lock('index')
    },
    (place, note) => {
      assert.is(branches(place), 'main=inside side=on side')
      assert.is(place.outside('ls-files'), 'theirs')
      assert.match(note, 'index (another program')
    },
  ))

test.run()
