"""Things described as documents: headings, tables, facts, remarks."""
