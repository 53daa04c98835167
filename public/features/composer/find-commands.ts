/** The commands that fit what was typed after a slash. */

/** What a command is about: the heading it stands under, in this order. */
export const COMMAND_GROUPS = ['chat', 'own', 'agent', 'options', 'go', 'skills'] as const
export type OfferedCommand = {
  name: string
  argument: string
  summary: string
  group: (typeof COMMAND_GROUPS)[number]
}

/** How well a command fits: its name before what it does; null when it does not. */
const rankOf = ({ name, summary }: OfferedCommand, needle: string): number | null => {
  const at = name.toLowerCase().indexOf(needle)
  if (at >= 0) return at === 0 ? (name.length === needle.length ? 0 : 1) : 2
  return summary.toLowerCase().includes(needle) ? 3 : null
}

/** By group; with something typed, the group of the best match is first, and in each group its best. */
export const findCommands = (all: readonly OfferedCommand[], query: string): OfferedCommand[] => {
  const needle = query.toLowerCase()
  const groups = COMMAND_GROUPS.map(group => {
    const own = all.filter(command => command.group === group)
    const rows = own.flatMap(command => {
      const rank = rankOf(command, needle)
      return rank === null ? [] : [{ command, rank: needle ? rank : 0 }]
    })
    return rows.sort((a, b) => a.rank - b.rank)
  })
  return groups
    .filter(group => group.length > 0)
    .sort(([a], [b]) => a!.rank - b!.rank)
    .flatMap(group => group.map(({ command }) => command))
}
