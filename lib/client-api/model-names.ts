/** Model names of the client API: `agent` is the profile's default; the others are the ids of its model list. */
import { missing } from '../errors.ts'
import type { ModelServices } from '../models/models.ts'
import { resolveFor } from '../models/resolve.ts'
import type { Home } from '../profiles/home.ts'

const DEFAULT_NAME = 'agent'

export class ModelNames {
  readonly #models: ModelServices

  constructor(models: ModelServices) {
    this.#models = models
  }

  async #idsOf(home: Home): Promise<string[]> {
    const { groups } = await this.#models.list(home.lenient)
    return [...new Set(groups.flatMap(({ models }) => models.map(({ id }) => id)))]
  }

  #pairOf(home: Home, id: string): string {
    const { provider, model } = resolveFor(home, id)
    return JSON.stringify([provider, model])
  }

  async list(home: Home): Promise<string[]> {
    return [DEFAULT_NAME, ...(await this.#idsOf(home))]
  }

  /** The id that a session stores; empty for the default. An unknown name is a 404: nothing is replaced by something similar. */
  async resolve(home: Home, name: string): Promise<string> {
    if (name === DEFAULT_NAME) return ''
    const ids = await this.#idsOf(home)
    const wanted = this.#pairOf(home, name)
    const isListed = ids.includes(name) || ids.some(id => this.#pairOf(home, id) === wanted)
    if (name.trim() !== '' && isListed && !this.#models.compatible(home, name).changed) return name
    throw missing(
      `The model "${name.slice(0, 200)}" does not exist. Use "${DEFAULT_NAME}", or a name that GET /v1/models lists.`,
      { param: 'model', api_code: 'model_not_found' },
    )
  }
}
