/** Types of unneeded.mjs. */
export function leaveOut<Entry extends object>(
  packages: Record<string, Entry>,
): Record<string, Entry>
export function removeUnread(modules: string): void
