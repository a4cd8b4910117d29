# Numbers for tests/inference/test_sampling_weights.py: Rscript sampling_weights.R > sampling_weights.json
suppressPackageStartupMessages(library(lavaan))
d <- read.csv("sampling_weights.csv")
model <- "m ~ x\ny ~ m + z\nz ~ x\nx ~ 1\nz ~ 1\nm ~ 1\ny ~ 1"
incomplete <- data.frame(x = d$xh, z = d$zh, m = d$mh, y = d$yh, w = d$w, g = d$g)
run <- function(data, ...) sem(model, data = data, fixed.x = FALSE, meanstructure = TRUE, estimator = "MLR",
                               sampling.weights = "w", ...)
fits <- list(
  plain = run(d), cluster = run(d, cluster = "g"), drop = run(incomplete, missing = "listwise"),
  fiml = run(incomplete, missing = "ml"), fiml_cluster = run(incomplete, missing = "ml", cluster = "g"))
number <- function(x) ifelse(is.na(x), "null", formatC(x, digits = 12, format = "g"))
cat("{\n  \"source\": \"", R.version.string, ", lavaan ", as.character(packageVersion("lavaan")),
    ", run as a program: sampling_weights.R on sampling_weights.csv\"", sep = "")
for (name in names(fits)) {
  fit <- fits[[name]]
  p <- parameterEstimates(fit)
  rows <- sprintf("[\"%s\", \"%s\", \"%s\", %s, %s]", p$lhs, p$op, p$rhs, number(p$est), number(p$se))
  m <- fitMeasures(fit)
  keys <- c("chisq", "df", "chisq.scaled", "chisq.scaling.factor", "baseline.chisq.scaling.factor", "cfi.scaled",
            "rmsea.scaled", "cfi.robust", "rmsea.robust", "logl")
  measures <- sprintf("\"%s\": %s", keys, number(m[keys]))
  cat(",\n  \"", name, "\": {\n    \"n\": ", nobs(fit), ",\n    \"parameters\": [", paste(rows, collapse = ",\n      "), "],\n    \"measures\": {",
      paste(measures, collapse = ", "), "}}", sep = "")
}
cat("\n}\n")
