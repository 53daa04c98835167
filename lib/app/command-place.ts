/** Composition: where the commands of a home run and whether that works, for the page and `doctor`, and the switch of the sandbox. */
import { withCodes, type Words } from '../base/sentences.ts'
import type { OutsidePolicy } from '../agent/types.ts'
import { isObject } from '../base/json.ts'
import type { Config } from '../config.ts'
import { type EngineCli, openEngine } from '../commands/containers/engine.ts'
import { conflict, wordsOf } from '../errors.ts'
import type { Home } from '../profiles/home.ts'
import type { CommandPlace, CommandsHere, SandboxChange } from '../schema/command-place.ts'
import { yamlFlag, yamlWord } from '../store/yaml-file.ts'
import type { HomeGuards } from '../turns/context/guards.ts'
import type { Commands } from '../commands/commands.ts'
import { containerEngine, containerSettings } from './container-runners.ts'

export type ContainerState = {
  image: string
  hasNetwork: boolean
  engine: EngineCli['engine']
  program: string
  isDownloaded: boolean
}

/** Null: the home asks for no container. Rejects with a sentence why none can run. Starts and downloads nothing. */
export const inspectContainer = async (
  home: Home,
  userHome: string,
): Promise<ContainerState | null> => {
  const engineSetting = containerEngine(home)
  if (engineSetting === null) return null
  const { image, hasNetwork } = containerSettings(home, engineSetting, userHome)
  const cli = await openEngine(home.childEnv(), engineSetting)
  const result = await cli.run(['image', 'inspect', '--format', '{{.Id}}', image])
  const { engine, program } = cli
  return { image, hasNetwork, engine, program, isDownloaded: result.code === 0 }
}

type ShownContainer = { container: CommandPlace['container']; problem: Words | null }

export class CommandPlaces {
  readonly #config: Config
  readonly #runners: Commands
  readonly #guards: HomeGuards

  constructor(config: Config, runners: Commands, guards: HomeGuards) {
    this.#config = config
    this.#runners = runners
    this.#guards = guards
  }

  /** Rejects while config.yaml cannot be read. */
  async show(home: Home): Promise<CommandPlace> {
    const { sandbox } = home.config()
    const [check, { container, problem }] = await Promise.all([
      this.#runners.checkSandbox(),
      this.#showContainer(home),
    ])
    const place = container ? 'container' : this.#runners.isSandboxed(home) ? 'sandbox' : 'computer'
    const ofPlace = { computer: null, sandbox: check.problem, container: problem }[place]
    return withCodes({
      profile: home.name,
      source: home.configFile.path,
      place,
      problem: this.#guards.of(home).commands() ?? ofPlace,
      sandbox: withCodes({
        enabled: sandbox.enabled,
        network: sandbox.network,
        problem: check.problem,
      }),
      outside: this.#outsideOf(home),
      container,
    })
  }

  /** In one workspace, by what is known: checks nothing. */
  here(home: Home, workspace: string): CommandsHere {
    const outside = this.#outsideOf(home)
    if (containerEngine(home) !== null) return { place: 'container', outside, problem: null }
    const problem = this.#runners.whyDirect({ home, workspace, owner: '' })
    const place = this.#runners.isSandboxed(home) && problem === null ? 'sandbox' : 'computer'
    return withCodes({ place, outside, problem })
  }

  /** Rejects with a sentence when that would not work. */
  async change(home: Home, { enabled, network, outside }: SandboxChange): Promise<void> {
    if (outside !== undefined) home.configFile.edit(['approvals', 'outside_sandbox'], outside)
    const { sandbox } = home.values()
    const short = yamlWord(sandbox) === 'auto' ? 'auto' : yamlFlag(sandbox)
    const isEmpty = sandbox === undefined || sandbox === null || sandbox === ''
    if (!isObject(sandbox) && short === undefined && !isEmpty)
      throw conflict(`sandbox in ${home.configFile.path} is not a mapping. Correct it there.`, {
        code: 'setting_form',
        values: { key: 'sandbox', file: home.configFile.path },
      })
    if (enabled === true && containerEngine(home) !== null)
      throw conflict(
        'terminal.backend asks for a container, and only one of them can run commands. Set terminal.backend to local first.',
        { code: 'container_in_use' },
      )
    if (enabled === true) {
      const { problem } = await this.#runners.checkSandbox()
      if (problem !== null)
        throw conflict(problem, { code: 'sandbox_unavailable', values: { reason: problem } })
    }
    const values = {
      ...(enabled !== undefined && { enabled }),
      ...(network !== undefined && { network }),
    }
    // `sandbox: true` is short for a mapping with `enabled`.
    if (short !== undefined) home.configFile.edit(['sandbox'], { enabled: short, ...values })
    else
      home.configFile.editAll(
        Object.entries(values).map(([key, value]) => [['sandbox', key], value]),
      )
  }

  async #showContainer(home: Home): Promise<ShownContainer> {
    const engineSetting = containerEngine(home)
    if (engineSetting === null) return { container: null, problem: null }
    const base = {
      engine: engineSetting as string,
      image: null,
      is_downloaded: false,
      has_network: false,
    }
    try {
      const { image, hasNetwork } = containerSettings(home, engineSetting, this.#config.userHome)
      const container = { ...base, image, has_network: hasNetwork }
      try {
        const state = await inspectContainer(home, this.#config.userHome)
        return {
          container: {
            ...container,
            engine: state?.engine ?? engineSetting,
            is_downloaded: state?.isDownloaded ?? false,
          },
          problem: null,
        }
      } catch (error) {
        return { container, problem: wordsOf(error) }
      }
    } catch (error) {
      return { container: base, problem: wordsOf(error) }
    }
  }

  #outsideOf(home: Home): OutsidePolicy {
    return home.config().approvals.outside_sandbox ?? this.#config.outsideSandbox
  }
}
