/** Runs inside the sandbox: tries to read and change files outside in every way it knows. Prints one JSON object. */
import * as fs from 'node:fs'
import { basename, dirname, join } from 'node:path'

const { targets, workspace, secret, limit } = JSON.parse(process.argv[2])
const EVIL = 'changed from inside the sandbox\n'
let count = 0
let number = 0
const leaks = []
const writes = []

const spellings = (path, at) => [
  path,
  path.replace(/^\//, '/proc/self/root/'),
  path.replace(/^\//, '/proc/1/root/'),
  `/proc/self/cwd/${'../'.repeat(20)}${path.slice(1)}`,
  `${dirname(path)}/./../${basename(dirname(path))}//${basename(path)}`,
  through(path, at),
]

/** A symlink of the workspace that leads to the directory of the target. */
const through = (path, at) => {
  const link = join(workspace, `link-${at}`)
  try {
    fs.symlinkSync(dirname(path), link)
  } catch {
    // Left from another spelling.
  }
  return join(link, basename(path))
}

const fresh = () => {
  const path = join(workspace, `evil-${number++}`)
  fs.writeFileSync(path, EVIL)
  return path
}

const CHANGES = {
  write: path => fs.writeFileSync(path, EVIL),
  append: path => fs.appendFileSync(path, EVIL),
  overwrite: path => {
    const fd = fs.openSync(path, 'r+')
    try {
      fs.writeSync(fd, EVIL, 0)
    } finally {
      fs.closeSync(fd)
    }
  },
  truncate: path => fs.truncateSync(path, 0),
  create: path => fs.writeFileSync(`${path}.new`, EVIL, { flag: 'wx' }),
  'rename onto': path => fs.renameSync(fresh(), path),
  'rename away': path => fs.renameSync(path, join(workspace, `taken-${number++}`)),
  'rename the directory': path => fs.renameSync(dirname(path), `${dirname(path)}-moved`),
  copy: path => fs.copyFileSync(fresh(), path),
  'hard link, then write': path => {
    const link = join(workspace, `hard-${number++}`)
    fs.linkSync(path, link)
    fs.writeFileSync(link, EVIL)
  },
  'link in its place': path => fs.linkSync(fresh(), `${path}.linked`),
  'symlink in its place': path => {
    fs.rmSync(path)
    fs.symlinkSync(fresh(), path)
  },
  'symlink, then write': path => {
    const link = join(workspace, `soft-${number++}`)
    fs.symlinkSync(path, link)
    fs.writeFileSync(link, EVIL)
  },
  'descriptor of the directory': path => {
    const fd = fs.openSync(dirname(path), 'r')
    try {
      fs.writeFileSync(`/proc/self/fd/${fd}/${basename(path)}`, EVIL)
    } finally {
      fs.closeSync(fd)
    }
  },
  'read-only descriptor, opened again': path => {
    const fd = fs.openSync(path, 'r')
    try {
      fs.writeFileSync(`/proc/self/fd/${fd}`, EVIL)
    } finally {
      fs.closeSync(fd)
    }
  },
  delete: path => fs.rmSync(path),
  'delete the directory': path => fs.rmSync(dirname(path), { recursive: true }),
  'make a directory': path => fs.mkdirSync(`${path}.d`),
  chmod: path => fs.chmodSync(path, 0o777),
  chown: path => fs.chownSync(path, 12_345, 12_345),
  times: path => fs.utimesSync(path, 1, 1),
}

const READS = {
  read: path => fs.readFileSync(path, 'utf8'),
  list: path => fs.readdirSync(dirname(path)).join(' '),
  copy: path => {
    const to = join(workspace, `copy-${number++}`)
    fs.copyFileSync(path, to)
    return fs.readFileSync(to, 'utf8')
  },
}

outer: for (const [at, target] of targets.entries())
  for (const path of spellings(target.path, at)) {
    for (const [name, read] of Object.entries(READS)) {
      if (count++ >= limit) break outer
      try {
        const text = read(path)
        if (text.includes(secret)) leaks.push(`${name} ${path}`)
      } catch {
        // Refused, as it should be.
      }
    }
    for (const [name, change] of Object.entries(CHANGES)) {
      if (count++ >= limit) break outer
      try {
        change(path)
        writes.push(`${name} ${path}`)
      } catch {
        // Refused, as it should be.
      }
    }
  }

console.log(JSON.stringify({ count, leaks, writes }))
