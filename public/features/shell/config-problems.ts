/** Configuration problems that affect every turn: unreadable files, unsupported security settings, and settings that wait to be accepted. */
import { signal } from '@preact/signals'
import type { Api } from '../../../router.ts'
import type { ApiCall } from '../../api.ts'

export type ConfigProblems = Omit<Api['GET /api/config/problems']['output'], 'ignored'>

export class ConfigProblemsState {
  readonly #api: ApiCall
  readonly current = signal<ConfigProblems>({ problems: [], guards: [], changed: null })

  constructor(api: ApiCall) {
    this.#api = api
  }

  async load(): Promise<void> {
    this.current.value = await this.#api('GET /api/config/problems')
  }

  /** Accepts what something else changed in guarded settings, or restores the values in force. */
  async settle(change_id: string, accept: boolean): Promise<void> {
    await this.#api('POST /api/guards/changes', { change_id, accept })
    this.current.value = await this.#api('GET /api/config/problems')
  }

  /** Accepts a security setting that isn't supported, until its value changes; or revokes that. */
  async accept(
    key: string,
    value_id: string,
    accepted: boolean,
  ): Promise<Api['GET /api/guards']['output']> {
    const answer = await this.#api('POST /api/guards/accept', { key, value_id, accepted })
    this.current.value = await this.#api('GET /api/config/problems')
    return answer
  }
}
