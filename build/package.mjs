/** Builds the npm package: the single file for every platform as `bin`. npm adds ripgrep for the platform it runs on. */
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from './files.mjs'
import { fileText } from './pack.mjs'

/**
 * All in one file and not in a package per platform: the addons of the other platforms are 5 MB more to download, against
 * seven packages that have to be published together, and that `--omit=optional` and mirrors can lose. Windows is missing,
 * because the service does not run there.
 */
export const PACKAGE_TARGETS = [
  'linux-x64',
  'linux-arm64',
  'linuxmusl-x64',
  'linuxmusl-arm64',
  'darwin-x64',
  'darwin-arm64',
]

const FILE = 'agent-webui.mjs'
const PAGES = ['README.md', 'SECURITY.md', 'CONTRIBUTING.md', 'ARCHITECTURE.md', 'LICENSE']

/** The root's package.json, as far as it concerns those who install the package. */
const manifest = () => {
  const { name, version, description, license, type, engines, dependencies } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  )
  const bin = { 'agent-webui': FILE }
  const ripgrep = '@vscode/ripgrep'
  // Without it, and without `rg` on the PATH, everything works but the search in files.
  const optionalDependencies = { [ripgrep]: dependencies[ripgrep] }
  return {
    name,
    version,
    description,
    license,
    type,
    engines,
    bin,
    files: [FILE, 'docs', ...PAGES],
    optionalDependencies,
  }
}

/** Writes `agent-webui-<version>.tgz` to `directory` and returns its path. */
export const buildPackage = async (packed, directory) => {
  const work = mkdtempSync(join(tmpdir(), 'agent-webui-package-'))
  try {
    writeFileSync(join(work, FILE), await fileText(packed))
    chmodSync(join(work, FILE), 0o755)
    writeFileSync(join(work, 'package.json'), `${JSON.stringify(manifest(), null, 2)}\n`)
    for (const name of PAGES) copyFileSync(join(root, name), join(work, name))
    // Help and README lead there.
    cpSync(join(root, 'docs'), join(work, 'docs'), { recursive: true })
    mkdirSync(directory, { recursive: true })
    const options = ['--json', '--loglevel=error', '--pack-destination', directory]
    const { status, stdout, stderr, error } = spawnSync('npm', ['pack', ...options], {
      cwd: work,
      encoding: 'utf8',
    })
    if (status !== 0) throw new Error(`npm pack: ${error?.message ?? stderr}`)
    return join(directory, JSON.parse(stdout)[0].filename)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}
