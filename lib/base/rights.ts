/** What a person may do, as a text that is compared to notice that it has changed. */
export const rightsOf = (
  person: { id: string; role: string; profiles: readonly string[] | null } | null,
): string => (person?.id ? JSON.stringify([person.role, person.profiles]) : '')
