/** Programs from npm that talk to `/v1`, and how each is told where it is. */
import { execFile, execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'

export type Installed = { name: string; packages: readonly string[] }

export const AI_SDK: Installed = {
  name: 'ai-sdk-7.0.173',
  packages: [
    ...['ai@7.0.173', '@ai-sdk/openai@4.0.118', '@ai-sdk/anthropic@4.0.105'],
    ...['@ai-sdk/openai-compatible@3.0.92', 'zod@4.6.7'],
  ],
}
export const CLAUDE: Installed = {
  name: 'claude-code-2.1.332',
  packages: ['@anthropic-ai/claude-code@2.1.332'],
}
export const CODEX: Installed = { name: 'codex-0.171.0', packages: ['@openai/codex@0.171.0'] }

/** Outside the repository, kept between runs. */
const directoryOf = ({ name }: Installed): string =>
  join(userInfo().homedir, '.cache', 'agent-webui-proofs', name)

/** Why it cannot be had here, or null. */
export const missing = (client: Installed): string | null => {
  const directory = directoryOf(client)
  if (existsSync(join(directory, 'node_modules'))) return null
  if (process.env.PROOF !== 'full')
    return `${client.name} is installed by "npm run proof -- real-clients" only`
  try {
    mkdirSync(directory, { recursive: true })
    const args = ['install', '--prefix', directory, '--no-audit', '--no-fund', ...client.packages]
    execFileSync('npm', args, { stdio: 'pipe', timeout: 600_000 })
    return null
  } catch (error) {
    return `${client.name} cannot be installed: ${String(error)}`.slice(0, 300)
  }
}

export type Ended = { code: number; stdout: string; stderr: string }

type RunOptions = { env: Record<string, string>; cwd: string }

const run = (file: string, args: readonly string[], { env, cwd }: RunOptions): Promise<Ended> =>
  new Promise(resolve => {
    const options = { env, cwd, timeout: 120_000 }
    const child = execFile(file, [...args], options, (error, stdout, stderr) => {
      const code = typeof error?.code === 'number' ? error.code : error ? 1 : 0
      resolve({ code, stdout, stderr })
    })
    child.stdin?.end()
  })

const PATH = `${dirname(process.execPath)}:${process.env.PATH}`

/** A program with an empty home and an empty directory to work in. */
const start = (client: Installed, program: string, files: Record<string, string>) => {
  const root = mkdtempSync(join(tmpdir(), 'client-'))
  const [home, cwd] = ['home', 'work'].map(name => join(root, name)) as [string, string]
  for (const directory of [home, cwd]) mkdirSync(directory)
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(home, name)), { recursive: true })
    writeFileSync(join(home, name), content)
  }
  return {
    root,
    cwd,
    run: (args: readonly string[], env: Record<string, string>) =>
      run(join(directoryOf(client), 'node_modules', '.bin', program), args, {
        env: { HOME: home, PATH, ...env },
        cwd,
      }),
  }
}

type Place = { url: string; token: string }

export const startClaude = ({ url, token }: Place) => {
  const claude = start(CLAUDE, 'claude', {})
  const env = {
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_AUTH_TOKEN: token,
    ANTHROPIC_MODEL: 'agent',
    ANTHROPIC_SMALL_FAST_MODEL: 'agent',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  }
  return { ...claude, ask: (...args: string[]) => claude.run(['-p', ...args], env) }
}

export const startCodex = ({ url, token }: Place) => {
  const config = [
    'model = "agent"',
    'model_provider = "ours"',
    '[model_providers.ours]',
    'name = "Ours"',
    `base_url = "${url}/v1"`,
    'env_key = "OUR_TOKEN"',
    'wire_api = "responses"',
    '',
  ].join('\n')
  const codex = start(CODEX, 'codex', { '.codex/config.toml': config })
  const first = ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox']
  return {
    ...codex,
    ask: (...args: string[]) => codex.run([...first, ...args], { OUR_TOKEN: token }),
  }
}

/** What `_ai-sdk.mjs` printed for a task. */
export const askAiSdk = async (
  { url, token }: Place,
  provider: string,
  task: string,
): Promise<Record<string, unknown>> => {
  const script = join(directoryOf(AI_SDK), 'client.mjs')
  copyFileSync(join(import.meta.dirname, '_ai-sdk.mjs'), script)
  const args = [script, url, token, provider, task]
  const env = { PATH, HOME: tmpdir() }
  const { stdout, stderr } = await run(process.execPath, args, { env, cwd: tmpdir() })
  try {
    return JSON.parse(stdout)
  } catch {
    throw new Error(`The AI SDK printed no JSON: ${stdout}${stderr}`)
  }
}
