/** Builds the single executable (Node SEA): the pinned Node with the launcher and the payload. */
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startProgram } from './start-program.ts'
import { replaceFile, root, sha256 } from './files.mjs'
import { NODE_FLAGS } from './node-flags.mjs'
import { bundleLaunch } from './pack.mjs'

const SEA_FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'
const suffix = process.platform === 'win32' ? '.exe' : ''
/** An optional package, which npm has no file of for some machines: there, `rg` on the PATH is used. */
const ripgrep = join(
  root,
  `node_modules/@vscode/ripgrep-${process.platform}-${process.arch}/bin/rg${suffix}`,
)
const postject = join(root, 'node_modules', 'postject', 'dist', 'cli.js')

/** Shows the output only on failure: both tools print harmless warnings. */
const runNode = (...args) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${stdout}${stderr}`)
}

/** The newest version of glibc that a Linux program asks its loader for, as `glibc 2.28`. It does not start with musl. */
export const readLibc = path => {
  const asked = readFileSync(path)
    .toString('latin1')
    .match(/\bGLIBC_2\.\d+\b/g)
  if (!asked) return undefined
  return `glibc 2.${Math.max(...asked.map(name => Number(name.slice('GLIBC_2.'.length))))}`
}

/** Writes the executable to `path` (on Windows with `.exe`) and returns where, after it has answered /health once. */
export const buildExecutable = async ({ packing, payload }, path) => {
  const work = mkdtempSync(join(tmpdir(), 'agent-webui-build-'))
  const at = name => join(work, name)
  try {
    const libc = readLibc(process.execPath)
    const hasRipgrep = existsSync(ripgrep)
    const index = JSON.stringify({
      ...JSON.parse(packing),
      ...(libc !== undefined && { libc }),
      ...(hasRipgrep && { ripgrep: sha256(readFileSync(ripgrep)) }),
    })
    writeFileSync(at('main.cjs'), await bundleLaunch(index, 'cjs'))
    writeFileSync(at('payload'), payload)
    const config = {
      main: at('main.cjs'),
      output: at('blob'),
      assets: { payload: at('payload'), ...(hasRipgrep && { rg: ripgrep }) },
      execArgv: NODE_FLAGS,
      disableExperimentalSEAWarning: true,
    }
    writeFileSync(at('sea.json'), JSON.stringify(config))
    runNode('--experimental-sea-config', at('sea.json'))
    const name = `agent-webui${suffix}`
    copyFileSync(process.execPath, at(name))
    chmodSync(at(name), 0o755)
    const place = process.platform === 'darwin' ? ['--macho-segment-name', 'NODE_SEA'] : []
    const fuse = ['--sentinel-fuse', SEA_FUSE]
    runNode(postject, at(name), 'NODE_SEA_BLOB', at('blob'), ...fuse, ...place)
    if (process.platform === 'darwin') spawnSync('codesign', ['--sign', '-', at(name)])
    const program = await startProgram(at(name), ['--no-browser'], { home: at('home') })
    await program.stop()
    replaceFile(path + suffix, readFileSync(at(name)), 0o755)
    return path + suffix
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}
