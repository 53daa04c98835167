/** Finds models by what a person types of their name, id, or provider. */
import { bareId, type Model } from './models.ts'

/** Best match first: exact id or label, then a prefix of either, then all words anywhere. */
export const matchModels = (models: readonly Model[], query: string): Model[] => {
  const needle = query.trim().toLowerCase()
  if (!needle) return [...models]
  const words = needle.split(/\s+/)
  const rank = (model: Model): number => {
    const id = model.id.toLowerCase()
    const label = model.label.toLowerCase()
    if (id === needle || bareId(id) === needle || label === needle) return 0
    if (label.startsWith(needle) || bareId(id).startsWith(needle)) return 1
    const text = `${label} ${id} ${model.provider.toLowerCase()}`
    return words.every(word => text.includes(word)) ? 2 : 3
  }
  return models
    .map(model => ({ model, at: rank(model) }))
    .filter(({ at }) => at < 3)
    .sort((a, b) => a.at - b.at)
    .map(({ model }) => model)
}
