/** Types of inputs.mjs. */
export function inputsLine(hash: string): string
export function hashInputs(root: string): Promise<string>
export function isCurrent(root: string, file: string): Promise<boolean>
