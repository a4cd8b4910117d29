# lavaan, OpenMx, sem and ggm: reads a problem's folder, prints one line of JSON.
# Rscript run.R FOLDER answer TOOL   or   Rscript run.R FOLDER time TOOL VARIANT
given <- commandArgs(trailingOnly = TRUE)
folder <- given[1]; task <- given[2]; tool <- given[3]; variant <- if (length(given) > 3) given[4] else ""
suppressPackageStartupMessages({ library(jsonlite); library(tool, character.only = TRUE) })
problem <- fromJSON(file.path(folder, "graph.json"), simplifyVector = FALSE)
names_ <- unlist(problem$names)
pairs_of <- function(list_) if (length(list_)) do.call(rbind, lapply(list_, unlist)) else matrix(character(0), 0, 2)
arrows <- pairs_of(problem$directed); arcs <- pairs_of(problem$bidirected)
factors <- lapply(problem$factors, unlist); paths <- lapply(problem$paths, unlist)
edges_of <- function(path) paste(head(path, -1), tail(path, -1), sep = "_to_")
z <- qnorm(0.975)

lavaan_text <- function(effect) {
  lines <- character(0)
  if (nrow(arrows)) for (v in unique(arrows[, 2])) {
    causes <- arrows[arrows[, 2] == v, 1]
    labels <- if (effect) paste0(causes, "_to_", v, "*", causes) else causes
    lines <- c(lines, paste(v, "~", paste(labels, collapse = " + ")))
  }
  for (f in names(factors)) lines <- c(lines, paste(f, "=~", paste(c(paste0("NA*", factors[[f]][1]), factors[[f]][-1]), collapse = " + ")), paste(f, "~~ 1*", f))
  if (nrow(arcs)) lines <- c(lines, paste(arcs[, 1], "~~", arcs[, 2]))
  lines <- c(lines, paste(names_, "~~", names_))
  if (effect) lines <- c(lines, paste("effect :=", paste(sapply(paths, function(p) paste(edges_of(p), collapse = "*")), collapse = " + ")))
  paste(lines, collapse = "\n")
}

answer_lavaan <- function(data) {
  fit <- lavaan(lavaan_text(TRUE), data = data, missing = if (problem$holes) "fiml" else "listwise", int.ov.free = TRUE,
                meanstructure = TRUE)
  row <- subset(parameterEstimates(fit), label == "effect")
  out <- list(value = row$est[1])
  if (!is.na(row$se[1]) && row$se[1] > 0) { out$low <- row$ci.lower[1]; out$high <- row$ci.upper[1] }
  out
}

openmx_model <- function(effect) {
  labels <- paste(arrows[, 1], arrows[, 2], sep = "_to_")
  parts <- list("problem", type = "RAM", manifestVars = names_)
  if (length(factors)) parts$latentVars <- names(factors)
  if (nrow(arrows)) parts <- c(parts, list(mxPath(from = arrows[, 1], to = arrows[, 2], values = 0.1, labels = labels)))
  parts <- c(parts, list(mxPath(from = names_, arrows = 2, values = 1, lbound = 1e-6)))
  for (f in names(factors)) parts <- c(parts, list(
    mxPath(from = f, to = factors[[f]], values = 0.5), mxPath(from = f, arrows = 2, free = FALSE, values = 1)))
  if (effect) {
    formula <- paste(sapply(paths, function(p) paste(edges_of(p), collapse = " * ")), collapse = " + ")
    parts <- c(parts, list(mxAlgebraFromString(formula, name = "effect"), mxPath(from = "one", to = names_)))
  }
  model <- do.call(mxModel, parts)
  # an arc added as a path would replace the arrow of a bow, so arcs are set in the matrix
  both <- rbind(arcs, arcs[, 2:1, drop = FALSE])
  model$S$free[both] <- TRUE
  model$S$values[both] <- 0.1
  model
}

answer_OpenMx <- function(data) {
  fit <- mxRun(mxModel(openmx_model(TRUE), mxData(data, type = "raw")), silent = TRUE)
  value <- mxEval(effect, fit)[1, 1]
  out <- list(value = value)
  if (fit$output$status$code > 1) out$warning <- paste("status", fit$output$status$code)
  # it tells when it is asked
  if (!suppressMessages(mxCheckIdentification(fit, details = FALSE)$status)) out$warning <- c("mxCheckIdentification: not identified", out$warning)
  se <- suppressMessages(tryCatch(mxSE(effect, fit, silent = TRUE)[1, 1], error = function(e) NA))
  if (!is.na(se) && se > 0) { out$low <- value - z * se; out$high <- value + z * se }
  out
}

sem_model <- function(means = FALSE) {
  lines <- if (nrow(arrows)) paste0(arrows[, 1], " -> ", arrows[, 2], ", ", arrows[, 1], "_to_", arrows[, 2], ", NA")
  lines <- c(lines, paste0(names_, " <-> ", names_, ", var_", names_, ", NA"))
  if (nrow(arcs)) lines <- c(lines, paste0(arcs[, 1], " <-> ", arcs[, 2], ", cov_", arcs[, 1], "_", arcs[, 2], ", NA"))
  for (f in names(factors)) lines <- c(lines, paste0(f, " -> ", factors[[f]], ", load_", f, "_", factors[[f]], ", NA"), paste0(f, " <-> ", f, ", NA, 1"))
  if (means) lines <- c(lines, paste0("Intercept -> ", names_, ", mean_", names_, ", NA"))
  specifyModel(text = paste(lines, collapse = "\n"), quiet = TRUE)
}

answer_sem <- function(data) {
  # no robust statistics: nobody else computes them here, and where a part of the model is not identified they stop the fit
  fit <- if (problem$holes) sem(sem_model(TRUE), data = data, na.action = na.pass, objective = objectiveFIML, raw = TRUE, fixed.x = "Intercept")
         else tryCatch(sem(sem_model(), data = data, robust = FALSE), error = function(e) {
           if (grepl("negative degrees of freedom", conditionMessage(e))) structure(list(), class = "refusal") else stop(e) })
  if (inherits(fit, "refusal")) return(list(refused = "The model has negative degrees of freedom"))
  found <- coef(fit)
  value <- sum(sapply(paths, function(p) prod(found[edges_of(p)])))
  out <- list(value = value)
  if (length(paths) == 1 && length(paths[[1]]) == 2) {
    se <- suppressWarnings(tryCatch(sqrt(vcov(fit)[edges_of(paths[[1]]), edges_of(paths[[1]])]), error = function(e) NA))
    if (!is.na(se)) { out$low <- value - z * se; out$high <- value + z * se }
  }
  out
}

ggm_amat <- function() {
  A <- matrix(0, length(names_), length(names_), dimnames = list(names_, names_))
  if (nrow(arrows)) A[arrows] <- 1
  for (f in factors) arcs <- rbind(arcs, t(combn(f, 2)))
  if (nrow(arcs)) { A[arcs] <- A[arcs] + 100; A[arcs[, 2:1, drop = FALSE]] <- A[arcs[, 2:1, drop = FALSE]] + 100 }
  A
}

answer_ggm <- function(data) {
  S <- cov(data[, names_])
  hidden <- c(factors, if (nrow(arcs)) setNames(split(arcs, row(arcs)), paste0("U", seq_len(nrow(arcs)))))
  if (length(hidden) == 1) {  # what it has for one hidden variable
    all_ <- c(names_, names(hidden))
    A <- matrix(0, length(all_), length(all_), dimnames = list(all_, all_))
    A[arrows] <- 1
    A[names(hidden), hidden[[1]]] <- 1
    B <- -fitDagLatent(A, S, nrow(data), latent = names(hidden), seed = 1)$Ahat
  } else {  # meant for ancestral graphs; tried on others too
    B <- tryCatch(-fitAncestralGraph(ggm_amat(), S, nrow(data))$Bhat, error = identity)
    if (inherits(B, "error")) { if (suppressWarnings(isAG(ggm_amat()))) stop(B)
      return(list(inapplicable = paste("not an ancestral graph:", conditionMessage(B)))) }
  }
  list(value = sum(sapply(paths, function(p) prod(B[cbind(tail(p, -1), head(p, -1))]))))
}

answer_one <- function(k) {
  data <- read.csv(file.path(folder, paste0("data_", k, ".csv")))
  notes <- character(0)
  found <- tryCatch(withCallingHandlers(get(paste0("answer_", tool))(data),
    warning = function(w) { notes <<- c(notes, conditionMessage(w)); invokeRestart("muffleWarning") }),
    error = function(e) list(error = substr(gsub("\\s+", " ", conditionMessage(e)), 1, 160)))
  notes <- substr(gsub("\\s+", " ", paste(c(found$warning, unique(notes)), collapse = "; ")), 1, 160)
  found$warning <- notes
  found
}

timed_call <- function() {
  n <- problem$rows
  if (variant == "bootstrap") {
    data <- read.csv(file.path(folder, "data_0.csv")); R <- problem$replicates
    if (tool == "lavaan") { text <- lavaan_text(TRUE); return(function() parameterEstimates(lavaan(text, data = data, se = "bootstrap", bootstrap = R))) }
    if (tool == "sem") { fit <- sem(sem_model(), data = data); return(function() bootSem(fit, R = R, data = data, show.progress = FALSE)) }
    fit <- mxRun(mxModel(openmx_model(TRUE), mxData(data, type = "raw")), silent = TRUE)
    return(function() mxBootstrap(fit, replications = R))
  }
  S <- as.matrix(read.csv(file.path(folder, "cov.csv"))); dimnames(S) <- list(names_, names_)
  switch(tool,
    ggm = { A <- ggm_amat(); function() fitAncestralGraph(A, S, n) },
    lavaan = { text <- lavaan_text(FALSE); se <- if (variant == "no standard errors") "none" else "standard"
      fit <- function() lavaan(text, sample.cov = S, sample.nobs = n, se = se, test = se)
      if (se == "none") fit else function() parameterEstimates(fit()) },
    sem = { model <- sem_model(); function() summary(sem(model, S, n)) },
    OpenMx = { model <- mxModel(openmx_model(FALSE), mxData(S, type = "cov", numObs = n)); function() summary(mxRun(model, silent = TRUE)) })
}

result <- if (task == "answer") list(answers = lapply(seq_len(problem$tables) - 1, answer_one)) else {
  tryCatch({
    invisible(capture.output({
      call <- timed_call()
      clock <- function() as.numeric(Sys.time())
      timed <- function() { start <- clock(); suppressWarnings(suppressMessages(call())); clock() - start }
      seconds <- if (is.null(problem$seconds)) 5 else problem$seconds
      taken <- first <- timed()
      if (first <= 5) {  # the first call may load libraries, so a shorter one says little
        taken <- numeric(0); end <- clock() + seconds
        while (length(taken) < 3 || (length(taken) < 1001 && clock() < end)) taken <- c(taken, timed())
        taken <- taken[(length(taken) %/% 5 + 1):length(taken)]
      }
    }))
    list(milliseconds = I(1000 * taken))
  }, error = function(e) list(error = substr(gsub("\\s+", " ", conditionMessage(e)), 1, 160)))
}
cat(toJSON(result, auto_unbox = TRUE, digits = 10, na = "null"), "\n")
